import type { Blame } from '#src/failure/codes.ts';
import { visibleLine } from '#src/model/visible-text.ts';

/** Words in one tone: whose failure they tell of, or a title; without one they are plain. */
export type Span = { readonly text: string; readonly tone?: Tone };
type Tone = Blame | 'title';

/** One line of the screen. */
export type Line = readonly Span[];

/** The only way to put words of any origin into a line. */
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
function cutTo(text: string, columns: number): string {
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

const padTo = (text: string, columns: number, right = false): string => {
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

export type Column<Row> = {
  readonly title: string;
  readonly of: (row: Row) => string | Span;
  /** Numbers stand to the right. */
  readonly right?: boolean;
  /** Where there is no room it is cut to this many columns, the widest first; without it, never. */
  readonly least?: number;
  /** Left out, the last one first, before anything is cut to less than {@link roomy}. */
  readonly spare?: boolean;
};

const gap = 2;
/** A cell that is cut to this can still be told from most others. */
const roomy = 40;

/** Rows under their titles, no line wider than `width` columns. The first line is the titles'. */
export function layColumns<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  width: number,
): readonly Line[] {
  const cells = rows.map((row) => columns.map(({ of }) => spanOf(of(row))));
  const natural = columns.map(({ title }, place) =>
    Math.max(widthOf(title), ...cells.map((line) => widthOf(line[place]?.text ?? ''))),
  );
  const widths = fit(columns, natural, width);
  const titles = columns.map(({ title }) => say(title));
  return [titles, ...cells].map((line) => cutLine(layOut(line, columns, widths), width));
}

const spanOf = (cell: string | Span): Span => (typeof cell === 'string' ? say(cell) : cell);

/** Columns that each may take; null: it is left out. */
function fit<Row>(
  columns: readonly Column<Row>[],
  natural: readonly number[],
  width: number,
): readonly (number | null)[] {
  const kept: (number | null)[] = [...natural];
  for (;;) {
    const widths = cutWidest(kept, columns, width, roomy);
    if (overOf(widths, width) <= 0) return widths;
    const spare = columns.findLastIndex((column, place) => column.spare === true && kept[place] !== null);
    if (spare === -1) return cutWidest(widths, columns, width, 0);
    kept[spare] = null;
  }
}

/** How much wider than the screen the line would be. */
function overOf(widths: readonly (number | null)[], width: number): number {
  const taken = widths.flatMap((size) => size ?? []);
  return taken.reduce((sum, size) => sum + size, 0) + gap * (taken.length - 1) - width;
}

function cutWidest<Row>(
  given: readonly (number | null)[],
  columns: readonly Column<Row>[],
  width: number,
  atLeast: number,
): readonly (number | null)[] {
  const widths = [...given];
  for (let over = overOf(widths, width); over > 0; over -= 1) {
    const mayGive = columns.map(({ least = Infinity }, place) => {
      const size = widths[place] ?? 0;
      return size > Math.max(least, atLeast) ? size : 0;
    });
    const widest = mayGive.indexOf(Math.max(...mayGive));
    if (mayGive[widest] === 0) return widths;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}

function layOut<Row>(
  cells: readonly Span[],
  columns: readonly Column<Row>[],
  widths: readonly (number | null)[],
): Line {
  const laid: Span[] = [];
  for (const [place, cell] of cells.entries()) {
    const size = widths[place] ?? null;
    if (size === null) continue;
    if (laid.length > 0) laid.push(say(' '.repeat(gap)));
    laid.push({ ...cell, text: padTo(cutTo(cell.text, size), size, columns[place]?.right) });
  }
  return laid;
}
