import type { RolloutRecord } from './record.ts';

/** What of a rollout decides about its group. */
export type EndedCopy = Pick<RolloutRecord, 'task' | 'ending'>;

/** The rewards of one task's copies. The three figures are null where nothing was scored. */
export type Group = {
  readonly task: string;
  readonly mean: number | null;
  readonly best: number | null;
  /** Standard deviation: what a group-relative method divides by. */
  readonly spread: number | null;
  /** Rollouts that the mean is taken over. */
  readonly n: number;
};

/**
 * `with`: a discarded rollout is left out of its group. `without`: what a trainer does that takes a lost sandbox for a
 * bad answer, and counts it as reward 0. Corral never sends such a zero; the second figure is computed here to compare.
 */
export type Veto = 'with' | 'without';

export function groupsOf(records: readonly EndedCopy[], veto: Veto): readonly Group[] {
  const byTask = Map.groupBy(records, (record) => record.task);
  return [...byTask].map(([task, copies]) => groupOf(task, rewardsOf(copies, veto)));
}

function rewardsOf(copies: readonly EndedCopy[], veto: Veto): readonly number[] {
  return copies.flatMap(({ ending }) => {
    if (ending.kind === 'scored') return [ending.score];
    return veto === 'with' ? [] : [0];
  });
}

function groupOf(task: string, rewards: readonly number[]): Group {
  const n = rewards.length;
  if (n === 0) return { task, mean: null, best: null, spread: null, n };
  const mean = rewards.reduce((sum, reward) => sum + reward, 0) / n;
  const variance = rewards.reduce((sum, reward) => sum + (reward - mean) ** 2, 0) / n;
  return { task, mean, best: Math.max(...rewards), spread: Math.sqrt(variance), n };
}
