/** What a question wants, as somebody reads it who knows English. */
export type Asked = {
  readonly wants: 'level' | 'difference' | 'growth' | 'share' | 'sum';
  readonly who: string;
  /** The newest year that is named. */
  readonly year: number;
  readonly before: number | null;
  /** The lines that are meant, in the question's words. */
  readonly lines: readonly string[];
};

/** The ways in which these questions are put; `who` is a name, a ticker or a description. */
const ways: readonly (readonly [Asked['wants'], RegExp])[] = [
  ['level', /^What was (?<who>.+)'s figure for (?<line>.+) in (?<year>\d{4})/],
  ['level', /^How much did (?<who>.+) report in (?<year>\d{4}) as (?<line>[^,?]+)/],
  ['difference', /^By how much did (?<line>.+) of (?<who>.+) change from (?<before>\d{4}) to (?<year>\d{4})/],
  [
    'growth',
    /^What was the percentage change in (?<line>.+) of (?<who>.+) from (?<before>\d{4}) to (?<year>\d{4})/,
  ],
  [
    'growth',
    /^By what percentage did (?<line>.+) at (?<who>.+) grow or shrink between (?<before>\d{4}) and (?<year>\d{4})/,
  ],
  ['share', /^What percentage of the (?:.+) of (?<who>.+) in (?<year>\d{4}) was (?<line>[^?]+)/],
  ['sum', /^What do (?<line>.+) of (?<who>.+) come to in (?<year>\d{4})/],
];

export function readQuestion(question: string): Asked {
  for (const [wants, way] of ways) {
    const { who = '', line = '', year = '', before } = way.exec(question)?.groups ?? {};
    if (who === '') continue;
    const lines = wants === 'sum' ? splitSum(line) : [line];
    return { wants, who, year: Number(year), before: before === undefined ? null : Number(before), lines };
  }
  const years = [...question.matchAll(/\b(?:19|20)\d\d\b/g)].map(([year]) => Number(year));
  return { wants: 'level', who: '', year: Math.max(0, ...years), before: null, lines: [question] };
}

/** "state and local taxes and rent": the `and` in the middle is the one that joins two lines. */
function splitSum(line: string): readonly string[] {
  const parts = line.split(' and ');
  const middle = Math.ceil(parts.length / 2);
  return [parts.slice(0, middle).join(' and '), parts.slice(middle).join(' and ')];
}
