import type { Asked } from './question.ts';

/** A page as its reader sees it. */
export type Sheet = {
  readonly ticker: string;
  readonly year: number;
  readonly text: string;
  readonly unit: 'thousands' | 'millions';
  readonly years: readonly number[];
  readonly rows: readonly { readonly label: string; readonly values: readonly number[] }[];
};

/** The page in a tool's output; null where it is none. */
export function sheetIn(output: string): Sheet | null {
  const path = /^path: (?<ticker>[^/\n]+)\/(?<year>\d+)\//.exec(output)?.groups;
  const lines = output.split('\n').filter((line) => line.startsWith('|'));
  const [head, ...rows] = lines.map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  );
  if (path === undefined || head === undefined) return null;
  return {
    ticker: path['ticker'] ?? '',
    year: Number(path['year']),
    text: output.slice(output.indexOf('\n')).trim(),
    unit: head[0]?.includes('thousands') ? 'thousands' : 'millions',
    years: head.slice(1).map(Number),
    rows: rows.map(([label = '', ...cells]) => ({ label, values: cells.map(amount) })),
  };
}

const amount = (cell: string): number => Number(cell.replace('$', '').trim());

/** What accountants call what people say. A reader does not know every word: some are missing, as they would be. */
const synonyms: Readonly<Record<string, string>> = {
  revolver: 'revolving credit facility',
  'credit line': 'revolving credit facility',
  bonds: 'senior unsecured notes',
  'bank loan': 'term loan',
  'short-term paper': 'commercial paper',
  'capitalised leases': 'finance lease',
  goods: 'product sales',
  upkeep: 'services and maintenance',
  royalty: 'licensing and royalties',
  abroad: 'foreign international',
  'foreign markets': 'international operations',
  washington: 'current federal',
  'due abroad': 'current foreign',
  'put off': 'deferred federal',
  'payable now': 'current state and local',
  'benefits earned': 'service cost',
  'past service': 'amortization of prior service',
  'settling pensions': 'settlement charges',
  machines: 'machinery and equipment',
  software: 'software and systems',
  fleet: 'vehicles',
};

/** Who does not care takes the row that shares a word with the question, and the first column where the year is missing. */
type Skill = { readonly careful: boolean };

/** So much of a label a careful reader wants to see in the question: "lease" alone does not mean every lease. */
const leastCovered = 0.5;

const plain = new Set([
  'the',
  'of',
  'and',
  'to',
  'in',
  'on',
  'is',
  'this',
  'its',
  'year',
  'cost',
  'what',
  'other',
]);

const wordsOf = (text: string): readonly string[] =>
  (text.toLowerCase().match(/[a-z]+/g) ?? [])
    .filter((word) => word.length > 2)
    .map((word) => word.slice(0, 6));

/** The row whose label has most of the words; undefined where none has any. */
function rowFor(line: string, { rows }: Sheet, { careful }: Skill) {
  const said = Object.entries(synonyms).filter(([word]) => line.toLowerCase().includes(word));
  const wanted = new Set(wordsOf([line, ...said.map(([, label]) => label)].join(' ')));
  const scored = rows.map((row) => {
    const own = wordsOf(row.label).filter((word) => !plain.has(word));
    const hits = own.filter((word) => wanted.has(word)).length;
    const covered = hits / Math.max(own.length, 1);
    return { row, score: careful && covered < leastCovered ? 0 : hits + covered };
  });
  const best = scored.toSorted((a, b) => b.score - a.score)[0];
  return best !== undefined && best.score > 0 ? best.row : undefined;
}

/** The answer as the prompt wants it written; undefined where the page does not have what it takes. */
export function answerTo(asked: Asked, sheet: Sheet, skill: Skill): string | undefined {
  const rows = asked.lines.map((line) => rowFor(line, sheet, skill));
  const of = (year: number, row = rows[0]) => {
    const column = sheet.years.indexOf(year);
    return row?.values[column < 0 && !skill.careful ? 0 : column];
  };
  const now = of(asked.year);
  if (now === undefined || rows.includes(undefined)) return undefined;
  if (asked.wants === 'level') return millions(now, sheet);
  if (asked.wants === 'share') return percent(now, of(asked.year, sheet.rows.at(-1)));
  if (asked.wants === 'sum') return millions(now + (of(asked.year, rows[1]) ?? 0), sheet);
  const before = asked.before === null ? undefined : of(asked.before);
  if (before === undefined) return undefined;
  return asked.wants === 'growth' ? percent(now - before, before) : millions(now - before, sheet);
}

const millions = (value: number, { unit }: Sheet): string =>
  (unit === 'millions' ? value : value / 1000).toFixed(1);

const percent = (part: number, whole: number | undefined): string | undefined =>
  whole === undefined || whole === 0 ? undefined : `${((part / whole) * 100).toFixed(1)}%`;
