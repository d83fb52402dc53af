import type { Columns, FindingLine, SearchAnswer } from '#src/protocol/console/run.ts';

/** Which rollouts a page shows; all of it is in the address. */
export type Filter = {
  readonly step: number | null;
  readonly item: number | null;
  readonly verdict: 'scored' | 'discarded' | null;
  readonly text: string;
  /** The text is searched in outputs, too. */
  readonly outputs: boolean;
  /** Place of a finding. */
  readonly finding: number | null;
};

export const noFilter: Filter = {
  step: null,
  item: null,
  verdict: null,
  text: '',
  outputs: false,
  finding: null,
};

export function filterIn(query: URLSearchParams): Filter {
  const number = (name: string): number | null => {
    const text = query.get(name);
    return text !== null && /^\d{1,6}$/.test(text) ? Number(text) : null;
  };
  const verdict = query.get('verdict');
  return {
    step: number('step'),
    item: number('item'),
    finding: number('finding'),
    text: query.get('text') ?? '',
    outputs: query.get('outputs') === 'true',
    verdict: verdict === 'scored' || verdict === 'discarded' ? verdict : null,
  };
}

export const queryOf = (filter: Filter): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(filter).flatMap(([name, value]) =>
      value === null || value === '' || value === false ? [] : [[name, String(value)]],
    ),
  );

export type Searched = {
  readonly text: string;
  readonly rows: ReadonlySet<number>;
  /** What of outputs was searched; null: they were not. */
  readonly outputs: NonNullable<SearchAnswer['outputs']> | null;
  /** Why not. */
  readonly trouble: string | null;
};

/** Rows that match all of it. `searched`: rows whose commands have the text, which only the server knows. */
export function matching(
  columns: Columns,
  items: readonly string[],
  findings: readonly FindingLine[],
  filter: Filter,
  searched: Pick<Searched, 'text' | 'rows'> | null,
): readonly number[] {
  const { step, item, verdict, finding } = filter;
  const text = filter.text.trim().toLowerCase();
  const about = finding === null ? null : new Set(findings[finding]?.rows);
  const inCommands = searched !== null && searched.text === filter.text ? searched.rows : null;
  const rows: number[] = [];
  for (let row = 0; row < columns.id.length; row += 1) {
    if (step !== null && columns.step[row] !== step) continue;
    if (item !== null && columns.item[row] !== item) continue;
    if (verdict === 'discarded' && columns.code[row] === null) continue;
    if (verdict === 'scored' && columns.score[row] === null) continue;
    if (about !== null && !about.has(row)) continue;
    if (text !== '' && inCommands?.has(row) !== true && !rowText(columns, items, row).includes(text))
      continue;
    rows.push(row);
  }
  return rows;
}

const rowText = ({ id, item, code }: Columns, items: readonly string[], row: number): string =>
  `${id[row]} ${items[item[row] ?? -1] ?? ''} ${code[row] ?? ''}`.toLowerCase();

export type SortKey = 'opened_at_ms' | 'step' | 'score' | 'gain' | 'calls' | 'output_bytes' | 'took_ms';
export type Sort = { readonly key: SortKey; readonly down: boolean };

/** What has no value is last. */
export function sorted(columns: Columns, rows: readonly number[], { key, down }: Sort): readonly number[] {
  const values = columns[key];
  const none = down ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  const valueOf = (row: number): number => values[row] ?? none;
  return rows.toSorted((one, other) => {
    const [a, b] = [valueOf(one), valueOf(other)];
    if (a === b) return other - one;
    return a < b === down ? 1 : -1;
  });
}
