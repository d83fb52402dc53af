import { cutLine, cutTo, type Line, padTo, say, type Span, widthOf } from './lines.ts';

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
