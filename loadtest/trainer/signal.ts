import type { RolloutTruth } from './truth.ts';

/**
 * What a training step has learned from. A rollout teaches by how its reward stands among those of its group, so the
 * signal of a step is the number of its rollouts whose group has at least two rewards; rollouts that the trainer gave
 * up itself are not expected to teach.
 */
export type StepSignal = {
  readonly groups: number;
  /** Groups in which a rollout was discarded. */
  readonly groupsHurt: number;
  /** Rollouts that would have taught something without any discard. */
  readonly expected: number;
  /** Those of them that did not. */
  readonly lost: number;
};

/** The signal of one step: all rollouts of one wave. */
export function signalOf(step: readonly RolloutTruth[]): StepSignal {
  const kept = step.filter(({ ending }) => ending.kind !== 'cancelled');
  const groups = [...Map.groupBy(kept, ({ group }) => group).values()];
  const expected = sum(groups.map((members) => teaching(members.length)));
  const taught = sum(groups.map((members) => teaching(members.filter(isScored).length)));
  return {
    groups: groups.length,
    groupsHurt: groups.filter((members) => !members.every(isScored)).length,
    expected,
    lost: expected - taught,
  };
}

/** Of several steps together. */
export function signalOfAll(steps: readonly StepSignal[]): StepSignal {
  const all = (of: (step: StepSignal) => number) => sum(steps.map(of));
  return {
    groups: all(({ groups }) => groups),
    groupsHurt: all(({ groupsHurt }) => groupsHurt),
    expected: all(({ expected }) => expected),
    lost: all(({ lost }) => lost),
  };
}

/** A reward with nothing beside it says nothing. */
const teaching = (rewards: number): number => (rewards < 2 ? 0 : rewards);

const isScored = ({ ending }: RolloutTruth): boolean => ending.kind === 'scored';

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
