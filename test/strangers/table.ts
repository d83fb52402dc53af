import type { Kind, Shown } from '#cli/preflight/task/play-control.ts';

/** How a task ended in both places. */
export type Played = {
  readonly name: string;
  readonly inContainer: Readonly<Record<Kind, Shown>>;
  readonly inSandbox: Readonly<Record<Kind, Shown>>;
};

/** A task that was not played: Corral refuses it by name, or its root is missing. */
type NotPlayed = { readonly name: string; readonly reason: string };

export type Row = Played | NotPlayed;

type Verdict = 'passed' | 'failed' | 'not compared';

/**
 * `failed`: the rewards differ, or Corral left none where the container left one. `not compared`: the task's own solution does not earn its
 * full reward in the container, so the reward in a sandbox says nothing.
 */
export function judge(row: Row): Verdict {
  if (!isPlayed(row)) return 'not compared';
  if (row.inContainer.solution.state !== 'passed') return lacksReward(row) ? 'failed' : 'not compared';
  const isEqual = (['solution', 'nop'] as const).every(
    (kind) => rewardOf(row.inContainer[kind]) === rewardOf(row.inSandbox[kind]),
  );
  return isEqual ? 'passed' : 'failed';
}

/** A play that runs out of time is not one of them: tasks without their full reward often do, in both places. */
const lacksReward = ({ inContainer, inSandbox }: Played): boolean =>
  (['solution', 'nop'] as const).some(
    (kind) =>
      inContainer[kind].reward !== null &&
      inSandbox[kind].reward === null &&
      inSandbox[kind].state === 'failed',
  );

const isPlayed = (row: Row): row is Played => 'inContainer' in row;

/** One comparison: a row of the table. */
function rewardOf({ state, reward, detail }: Shown): string {
  if (reward === null) return state === 'lost' ? detail : 'none';
  const named = Object.entries(reward);
  const own = reward['reward'];
  return own === undefined ? named.map(([name, value]) => `${name} ${value}`).join(', ') : String(own);
}

const head = ['task', 'container', 'Corral', 'container, nop', 'Corral, nop', ''];

/** One line a task, then why the failed ones failed, then the counts. */
export function formatTable(rows: readonly Row[]): string {
  const cells = [head, ...rows.map(cellsOf)];
  const widths = head.map((_, column) => Math.max(...cells.map((line) => (line[column] ?? '').length)));
  const lines = cells.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  const reasons = rows.filter(isPlayed).flatMap(explain);
  return [...lines, ...reasons, ...counts(rows)].join('\n');
}

function cellsOf(row: Row): readonly string[] {
  if (!isPlayed(row)) return [row.name, '-', '-', '-', '-', `not played: ${row.reason}`];
  const { inContainer, inSandbox } = row;
  const rewards = [inContainer.solution, inSandbox.solution, inContainer.nop, inSandbox.nop].map(rewardOf);
  return [row.name, ...rewards, judge(row)];
}

/** What each play showed that did not pass, of a task that was not equal. */
function explain(row: Played): readonly string[] {
  if (judge(row) === 'passed') return [];
  const { inContainer, inSandbox } = row;
  return [
    ...describeUnlessPassed(`${row.name} in the container`, inContainer.solution),
    ...describeUnlessPassed(`${row.name} in Corral`, inSandbox.solution),
    ...describeUnlessPassed(`${row.name} in Corral, nop`, inSandbox.nop),
  ];
}

const describeUnlessPassed = (what: string, { state, detail }: Shown): readonly string[] =>
  state === 'passed' ? [] : [`\n${what}: ${detail}`];

function counts(rows: readonly Row[]): readonly string[] {
  const count = (verdict: Verdict) => rows.filter((row) => judge(row) === verdict).length;
  return [
    '',
    `${count('not compared')} not compared`,
    `${count('passed')} passed, ${count('failed')} failed`,
  ];
}
