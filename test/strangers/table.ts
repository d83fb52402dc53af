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
 * `failed`: the rewards differ. `not compared`: the task's own solution does not earn its full reward in the container, so it says
 * nothing about a sandbox.
 */
export function judge(row: Row): Verdict {
  if (!isPlayed(row) || row.inContainer.solution.state !== 'passed') return 'not compared';
  const isEqual = (['solution', 'nop'] as const).every(
    (kind) => rewardOf(row.inContainer[kind]) === rewardOf(row.inSandbox[kind]),
  );
  return isEqual ? 'passed' : 'failed';
}

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

function explain(row: Played): readonly string[] {
  const verdict = judge(row);
  if (verdict === 'passed') return [];
  const shown = verdict === 'failed' ? row.inSandbox : row.inContainer;
  const place = verdict === 'failed' ? 'Corral' : 'the container';
  return [`\n${row.name} in ${place}: ${shown.solution.detail}`];
}

function counts(rows: readonly Row[]): readonly string[] {
  const count = (verdict: Verdict) => rows.filter((row) => judge(row) === verdict).length;
  return [
    '',
    `${count('not compared')} not compared`,
    `${count('passed')} passed, ${count('failed')} failed`,
  ];
}
