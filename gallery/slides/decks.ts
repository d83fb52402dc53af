import { pointOf } from '../generators/slides/bench/points.ts';

/* Decks as scripts write them: from a brief to HTML. */

export type Section = { readonly heading: string; readonly sentences: readonly string[] };

/** The brief as its reader sees it. */
export const sectionsOf = (brief: string): readonly Section[] =>
  brief.split(/^## /m).flatMap((part) => {
    const [heading = '', ...lines] = part.split('\n');
    return heading === '' ? [] : [{ heading, sentences: lines.filter((line) => line !== '') }];
  });

/** The sentences with a term in code, which is what the prompt asks for. */
export const pointsOf = ({ sentences }: Section): readonly string[] =>
  sentences.filter((sentence) => pointOf(sentence) !== undefined);

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** Terms in a font of code; a backtick without its other is left out. */
const formatted = (text: string): string =>
  escaped(text)
    .replaceAll(/`([^`]+)`/g, '<code>$1</code>')
    .replaceAll('`', '');

export type Drawing = {
  /** The style of the whole deck. */
  readonly style?: string;
  /** What is in a slide after its heading and its lines. */
  readonly after?: string;
  /** How a line is written. */
  readonly line?: (text: string) => string;
};

const usual = `section { padding: 48px 64px; background: #ffffff; color: #1d2733; font-family: sans-serif }
h1 { margin: 0 0 28px; font-size: 40px; color: #123a6b }
ul { margin: 0; padding-left: 28px }
li { margin-bottom: 14px; font-size: 22px; line-height: 1.4 }
code { font-family: monospace; font-size: 20px }`;

export const listed = (text: string): string => `<li>${formatted(text)}</li>`;

export function drawDeck(
  sections: readonly Section[],
  { style = '', after = '', line = listed }: Drawing = {},
): string {
  const slides = sections.map(
    ({ heading, sentences }) =>
      `<section>\n<h1>${escaped(heading)}</h1>\n<ul>\n${sentences.map(line).join('\n')}\n</ul>\n${after}</section>`,
  );
  return `<!doctype html>
<html>
<head>
<meta charset="utf-8">
<style>
${usual}
${style}
</style>
</head>
<body>
${slides.join('\n')}
</body>
</html>
`;
}
