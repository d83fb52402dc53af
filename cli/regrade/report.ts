import { score } from '../print/amounts.ts';
import { table } from '../print/table.ts';
import type { Regraded } from './regrade.ts';

export type RegradeReport = {
  readonly run: string;
  readonly grader: string;
  readonly ok: boolean;
  readonly summary: RegradeSummary;
  readonly rollouts: readonly Regraded[];
};

export type RegradeSummary = {
  readonly rollouts: number;
  readonly regraded: number;
  readonly higher: number;
  readonly lower: number;
  readonly same: number;
  /** Over those that have both. */
  readonly old_mean: number | null;
  readonly new_mean: number | null;
};

const epsilon = 1e-9;

export function summaryOf(rollouts: readonly Regraded[]): RegradeSummary {
  const both = rollouts.flatMap((one) => (one.new === null ? [] : [{ old: one.old, now: one.new }]));
  const mean = (of: (one: { old: number; now: number }) => number) =>
    both.length === 0 ? null : both.reduce((total, one) => total + of(one), 0) / both.length;
  return {
    rollouts: rollouts.length,
    regraded: both.length,
    higher: both.filter(({ old, now }) => now > old + epsilon).length,
    lower: both.filter(({ old, now }) => now < old - epsilon).length,
    same: both.filter(({ old, now }) => Math.abs(now - old) <= epsilon).length,
    old_mean: mean(({ old }) => old),
    new_mean: mean(({ now }) => now),
  };
}

export function describeRegrade({ run, grader, summary, rollouts }: RegradeReport, width: number): string {
  const lines = table(
    rollouts,
    [
      { title: 'rollout', of: (one) => one.rollout },
      { title: 'item', of: (one) => one.item ?? '–' },
      { title: 'old', of: (one) => score(one.old), right: true },
      { title: 'new', of: (one) => score(one.new), right: true },
      { title: 'change', of: changeOf, right: true },
      { title: 'why', of: (one) => one.why ?? one.parts[0]?.reason ?? '' },
    ],
    width,
  );
  const { regraded, higher, lower, same, old_mean, new_mean } = summary;
  const without = summary.rollouts - regraded;
  const means = `${regraded} of ${summary.rollouts} rollouts: mean ${score(old_mean)} before, ${score(new_mean)} now; ${higher} higher, ${lower} lower, ${same} the same.`;
  return [
    `${run} by ${grader}`,
    '',
    lines,
    '',
    means,
    ...(without === 0 ? [] : [`${without} have no new score, and count in neither mean: see why.`]),
    'No stored score was changed.',
  ].join('\n');
}

function changeOf({ old, new: now }: Regraded): string {
  if (now === null) return 'none';
  const change = now - old;
  return Math.abs(change) <= epsilon ? '' : `${change > 0 ? '+' : ''}${change.toFixed(3)}`;
}
