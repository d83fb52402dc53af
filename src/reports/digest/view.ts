import type { LoggedRollout } from '#src/reports/findings/collect.ts';
import { meanOf, stepped, type Stepped } from '#src/reports/findings/runs.ts';

export type PlacedRollout = LoggedRollout & Stepped;

/** A run as all parts of its digest look at it; made once for each of them. */
export type RunView = {
  /** In the order in which they opened. */
  readonly rollouts: readonly PlacedRollout[];
  /** The rollouts of each step. */
  readonly steps: readonly (readonly PlacedRollout[])[];
  readonly groups: ReadonlyMap<string, readonly PlacedRollout[]>;
  /** The most frequent first. */
  readonly verbs: readonly string[];
};

/** As many as a person tells apart by their colors; the rest is one more. */
export const mostVerbs = 7;

export function viewOf(logged: readonly LoggedRollout[]): RunView {
  const rollouts = stepped(logged);
  const byStep = Map.groupBy(rollouts, ({ step }) => step);
  const steps = Array.from(
    { length: (rollouts.at(-1)?.step ?? -1) + 1 },
    (_, step) => byStep.get(step) ?? [],
  );
  const groups = Map.groupBy(rollouts, ({ group }) => group);
  return { rollouts, steps, groups, verbs: frequentVerbs(rollouts) };
}

function frequentVerbs(rollouts: readonly PlacedRollout[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const { verbs } of rollouts) for (const verb of verbs) counts.set(verb, (counts.get(verb) ?? 0) + 1);
  const inOrder = [...counts].toSorted(([, one], [, other]) => other - one);
  return inOrder.slice(0, mostVerbs).map(([verb]) => verb);
}

export const scoresOf = (rollouts: readonly PlacedRollout[]): readonly number[] =>
  rollouts.flatMap(({ score }) => (score === null ? [] : [score]));

export const meanOrNull = (numbers: readonly number[]): number | null =>
  numbers.length === 0 ? null : meanOf(numbers);

export function deviationOf(numbers: readonly number[]): number {
  const mean = meanOf(numbers);
  return Math.sqrt(meanOf(numbers.map((each) => (each - mean) ** 2)));
}

/** How much more it scored than its group; null without a score, or if it is alone. */
export function gainIn({ groups }: RunView, { score, group }: PlacedRollout): number | null {
  const scores = scoresOf(groups.get(group) ?? []);
  return score === null || scores.length < 2 ? null : score - meanOf(scores);
}

/** Rollouts without a gain do not count. */
export function meanGain(gains: readonly (number | null)[]): number | null {
  return meanOrNull(gains.filter((gain) => gain !== null));
}
