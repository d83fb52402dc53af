import { isCollection, isMap, isScalar, type Pair, parseDocument } from 'yaml';

/** A value as its reader sees it: `gateway.replicas`, `2`, what it is for. */
export type ValueRow = { readonly name: string; readonly fallback: string; readonly meaning: string };

/**
 * The values that have a comment which begins with `-- `, in the order of the file. What is below such a value is part of
 * its default. Throws for one whose meaning nobody told.
 */
export function valueRows(yaml: string): readonly ValueRow[] {
  const { contents } = parseDocument(yaml);
  if (!isMap(contents)) throw new Error('values.yaml is no mapping');
  return contents.items.flatMap((pair) => rowsOf(pair, ''));
}

function rowsOf(pair: Pair, prefix: string): readonly ValueRow[] {
  const { key, value } = pair;
  if (!isScalar(key)) throw new Error(`a value’s name is no text, below ${prefix}`);
  const name = `${prefix}${String(key.value)}`;
  // The first key of a mapping has its comment with the mapping itself.
  const meaning = meaningOf(key.commentBefore);
  if (meaning !== null) return [{ name, fallback: textOf(value), meaning }];
  if (!isMap(value)) throw new Error(`values.yaml: ${name} has no comment that begins with "# -- "`);
  const [first, ...rest] = value.items;
  if (first === undefined) throw new Error(`values.yaml: ${name} is empty, and nobody told what it is for`);
  if (isScalar(first.key)) first.key.commentBefore ??= value.commentBefore ?? null;
  return [first, ...rest].flatMap((inner) => rowsOf(inner, `${name}.`));
}

/** The last paragraph of the comment: what stands above it speaks of the file. */
function meaningOf(comment: string | null | undefined): string | null {
  const at = comment?.lastIndexOf(' -- ') ?? -1;
  if (comment === null || comment === undefined || at === -1) return null;
  return comment
    .slice(at + ' -- '.length)
    .split('\n')
    .map((line) => line.trim())
    .join(' ');
}

const textOf = (node: unknown): string =>
  JSON.stringify(isCollection(node) || isScalar(node) ? node.toJSON() : node);

const cell = (text: string) => text.replaceAll('|', '\\|');

/** The rows as a table in Markdown. */
export function valuesTable(rows: readonly ValueRow[]): string {
  const lines = rows.map(
    ({ name, fallback, meaning }) => `| \`${name}\` | \`${cell(fallback)}\` | ${cell(meaning)} |`,
  );
  return ['| value | default | meaning |', '| --- | --- | --- |', ...lines].join('\n');
}

const begin = '<!-- values: written by tools/write-chart.ts -->\n';
const end = '\n<!-- end of values -->';

/** A page with the table between its two marks. */
export function withTable(page: string, table: string): string {
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from === -1 || to < from) throw new Error('the page has no marks between which the table stands');
  return page.slice(0, from + begin.length) + table + page.slice(to);
}
