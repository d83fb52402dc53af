import { pageStyle } from './page-style.ts';

/** A whole page that needs nothing else: no script, no font, no network. */
export function pageOf(title: string, body: readonly string[]): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<style>${pageStyle}</style>
</head>
<body><main>
${body.join('\n')}
</main></body>
</html>
`;
}

export function figure(title: string, note: string, svg: string): string {
  return `<section><h2>${escaped(title)}</h2><p class="note">${escaped(note)}</p><figure>${svg}</figure></section>`;
}

export function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
