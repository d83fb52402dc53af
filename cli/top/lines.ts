import type { Blame } from '#src/failure/codes.ts';
import { visibleLine } from '../print/visible.ts';

/** Words in one tone: whose failure they tell of, or a title; without one they are plain. */
export type Span = { readonly text: string; readonly tone?: Tone };
export type Tone = Blame | 'title';

/** One line of the screen. */
export type Line = readonly Span[];

/** The one way from words, whoever's they are, into a line. */
export const say = (text: string, tone?: Tone): Span => ({
  text: visibleLine(text),
  ...(tone === undefined ? {} : { tone }),
});

// What East Asian Width calls wide or full width, in the blocks where all or nearly all of it is, and pictures.
const wide =
  /[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF01-\uFF60\uFFE0-\uFFE6\u{20000}-\u{3FFFD}]|\p{Emoji_Presentation}/u;
const mark = /^\p{M}+$/u;

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

const lettersOf = (text: string): readonly string[] =>
  Array.from(graphemes.segment(text), ({ segment }) => segment);

const widthOfLetter = (letter: string) => (wide.test(letter) ? 2 : mark.test(letter) ? 0 : 1);

/** Columns that a text takes on a terminal. */
export const widthOf = (text: string): number =>
  /^[\x20-\x7e]*$/.test(text)
    ? text.length
    : lettersOf(text).reduce((sum, letter) => sum + widthOfLetter(letter), 0);

/** The text in at most so many columns; what is cut ends in `…`. */
export function cutTo(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  if (columns < 1) return '';
  let kept = '';
  let taken = 1; // the mark that something is missing
  for (const letter of lettersOf(text)) {
    taken += widthOfLetter(letter);
    if (taken > columns) break;
    kept += letter;
  }
  return `${kept}…`;
}

export const padTo = (text: string, columns: number, right = false): string => {
  const space = ' '.repeat(Math.max(0, columns - widthOf(text)));
  return right ? space + text : text + space;
};

export function cutLine(line: Line, columns: number): Line {
  const cut: Span[] = [];
  let left = columns;
  for (const span of line) {
    const text = cutTo(span.text, left);
    if (text !== '') cut.push({ ...span, text });
    left -= widthOf(text);
    if (text !== span.text) break;
  }
  return cut;
}

const codes: Readonly<Record<Tone, string>> = {
  infrastructure: '31',
  caller: '33',
  model: '36',
  title: '1',
};

/** The line as a terminal takes it. Whatever is in it, the only orders are ours. */
export function paint(line: Line, inColour: boolean): string {
  const painted = line.map(({ text, tone }) =>
    inColour && tone !== undefined
      ? `\u001B[${codes[tone]}m${visibleLine(text)}\u001B[0m`
      : visibleLine(text),
  );
  return painted.join('').trimEnd();
}
