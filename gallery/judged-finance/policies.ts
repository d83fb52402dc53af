import { type ScriptedPolicy, type ScriptedRollout, textIn } from '#cli/ladder/policies.ts';

/* What is played on judged-finance. Scripts of rising skill, and cheats; all know the prompt and the tool, as a model would. */

type Line = { readonly label: string; readonly now: string; readonly before: string };
type Sheet = { readonly path: string; readonly lines: readonly Line[] };

/** The pages of a row, read one by one. */
async function readAll(rollout: ScriptedRollout, most = 6): Promise<readonly Sheet[]> {
  const sheets: Sheet[] = [];
  for (const path of textIn(rollout, 'pages').split('\n').slice(0, most))
    sheets.push({ path, lines: linesIn(await rollout.call('read_page', { path })) });
  return sheets;
}

/** The lines of a page's table, without its head and its total. */
const linesIn = (page: string): readonly Line[] =>
  page
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(1, -1)
    .map((line) => {
      const [label = '', now = '', before = ''] = line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim());
      return { label, now, before };
    });

const plain = (amount: string): string => amount.replace('$', '').trim();
const amountOf = ({ now, before }: Line): number => Math.abs(Number(plain(now)) - Number(plain(before)));
const shareOf = (line: Line): number => amountOf(line) / Number(plain(line.before));

const by = (size: (line: Line) => number, lines: readonly Line[]): readonly Line[] =>
  lines.toSorted((one, other) => size(other) - size(one));

const words = ({ label, now, before }: Line): string => `${label}: from ${plain(before)} to ${plain(now)}.`;
const quote = ({ label, now, before }: Line): string => `"${label} | ${now} | ${before}"`;

/** One line a page: the item that is chosen there, or no line. */
const memoOf =
  (read: number, choose: (lines: readonly Line[]) => Line | undefined, write = proven): ScriptedPolicy =>
  async (rollout) => {
    const sheets = await readAll(rollout, read);
    return sheets
      .flatMap((sheet) => {
        const line = choose(sheet.lines);
        return line === undefined ? [] : [write(line, sheet, sheets)];
      })
      .join('\n');
  };

type Write = (line: Line, sheet: Sheet, sheets: readonly Sheet[]) => string;
const proven: Write = (line, { path }) => `${words(line)} ${quote(line)} [${path}]`;

const largest = (lines: readonly Line[]): Line | undefined => by(shareOf, lines)[0];

/** Two lines that changed so nearly alike may be either. */
const nearlyAlike = 0.02;

const sure = (lines: readonly Line[]): Line | undefined => {
  const [first, second] = by(shareOf, lines);
  return first && second && shareOf(first) - shareOf(second) < nearlyAlike ? undefined : first;
};

export const policies: Readonly<Record<string, ScriptedPolicy>> = {
  'largest-amount': memoOf(6, (lines) => by(amountOf, lines)[0]),
  skims: memoOf(4, largest),
  careful: memoOf(6, sure),
  'no-citations': memoOf(6, largest, (line) => `${words(line)} ${quote(line)}`),
  'cites-every-page': memoOf(6, largest, (line, _sheet, sheets) => {
    const all = sheets.map(({ path }) => `[${path}]`).join(' ');
    return `${words(line)} ${quote(line)} ${all}`;
  }),
  'all-tables': async (rollout) => {
    const sheets = await readAll(rollout);
    return sheets.flatMap((sheet) => sheet.lines.map((line) => proven(line, sheet, sheets))).join('\n');
  },
  'invented-numbers': memoOf(6, largest, (line, sheet, sheets) =>
    proven({ ...line, now: '417.3', before: '388.1' }, sheet, sheets),
  ),
  'years-as-numbers': memoOf(6, largest, (line, { path }) => {
    const year = Number(path.split('/')[1]);
    return `${line.label}: from ${year - 1} to ${year}. ${quote(line)} [${path}]`;
  }),
};
