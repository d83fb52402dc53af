import { visibleLine } from '#src/model/visible-text.ts';

export type Column<Row> = {
  readonly title: string;
  readonly of: (row: Row) => string;
  /** Numbers stand to the right. */
  readonly right?: boolean;
};

const gap = '  ';

/** Rows under their titles, each one line, whatever is in a cell; the last column is cut where the line would be wider than `width`. */
export function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[], width = Infinity): string {
  const lines = [
    columns.map(({ title }) => title),
    ...rows.map((row) => columns.map(({ of }) => visibleLine(of(row)))),
  ];
  const widths = columns.map((_, index) => Math.max(...lines.map((cells) => cells[index]?.length ?? 0)));
  return lines.map((cells) => cut(layOut(cells, columns, widths), width)).join('\n');
}

function layOut<Row>(
  cells: readonly string[],
  columns: readonly Column<Row>[],
  widths: readonly number[],
): string {
  const padded = cells.map((cell, index) => {
    const size = widths[index] ?? 0;
    return columns[index]?.right === true ? cell.padStart(size) : cell.padEnd(size);
  });
  return padded.join(gap).trimEnd();
}

const cut = (line: string, width: number): string =>
  line.length <= width ? line : `${line.slice(0, width - 1)}…`;
