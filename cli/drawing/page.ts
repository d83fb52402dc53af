import { visibleLines } from '#src/model/visible-text.ts';

/**
 * A whole page that needs nothing else: no script, no font, no network. A browser obeys some characters as a terminal does,
 * so they are shown everywhere, also in drawings.
 */
export function pageOf(title: string, body: readonly string[]): string {
  return visibleLines(`<!doctype html>
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
`);
}

export function figure(title: string, note: string, svg: string): string {
  return `<section><h2>${escaped(title)}</h2><p class="note">${escaped(note)}</p><figure tabindex="0">${svg}</figure></section>`;
}

export function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

/** The page's look, light and dark by the reader's own setting. The drawings use the same variables. */
const pageStyle = `
:root { color-scheme: light dark; --page: #fbfbfa; --text: #22262b; --quiet: #6a717b; --grid: #e3e5e8; --band: #dfe4ea; --card: #ffffff; --lost: #b3261e; }
@media (prefers-color-scheme: dark) {
  :root { --page: #16181b; --text: #e4e6e9; --quiet: #969ea9; --grid: #2c3036; --band: #343a42; --card: #1d2024; --lost: #ff8078; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 40px 24px 56px; }
h1 { font-size: 30px; line-height: 1.2; margin: 0 0 8px; text-wrap: balance; }
h2 { font-size: 19px; line-height: 1.3; margin: 0 0 4px; }
.lead { font-size: 18px; color: var(--quiet); margin: 0 0 28px; max-width: 75ch; }
.note { color: var(--quiet); font-size: 14px; margin: 0 0 16px; max-width: 95ch; }
section { background: var(--card); border: 1px solid var(--grid); border-radius: 10px; padding: 22px 24px; margin: 0 0 24px; }
figure { margin: 0; }
figure svg { width: 100%; height: auto; display: block; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px; margin: 0 0 24px; }
.tiles div { background: var(--card); border: 1px solid var(--grid); border-radius: 10px; padding: 12px 16px; }
dt { color: var(--quiet); font-size: 13px; }
dd { margin: 0; font-size: 20px; white-space: nowrap; font-weight: 600; font-variant-numeric: tabular-nums; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th, td { text-align: left; padding: 6px 12px 6px 0; overflow-wrap: anywhere; border-bottom: 1px solid var(--grid); }
th { color: var(--quiet); font-weight: 500; }
.advice { list-style: none; margin: 0; padding: 0; }
.advice li { padding: 10px 0 10px 30px; border-bottom: 1px solid var(--grid); position: relative; }
.advice li:last-child { border-bottom: 0; }
.advice li::before { position: absolute; left: 4px; font-weight: 700; }
.advice .bad::before { content: "✕"; color: #d6453d; }
.advice .look::before { content: "→"; color: #e0863a; }
.advice .good::before { content: "✓"; color: #5a9e4b; }
.advice .todo { color: var(--quiet); display: block; }
.number { text-align: right; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
.wide { overflow-x: auto; }
figure + figure, figure + .wide, .wide + figure { margin-top: 20px; }
td.lost { color: var(--lost); font-weight: 600; }
@media (max-width: 700px) {
  main { padding: 20px 12px; }
  section { padding: 16px 12px; }
  figure { overflow-x: auto; }
  figure svg { width: 900px; }
}
footer { color: var(--quiet); font-size: 13px; }
`;
