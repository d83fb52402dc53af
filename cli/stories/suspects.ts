import type { Outline } from './outlines.ts';

/** Rollouts that ended in the same way after the same last command, of which nobody can tell whether it was the cause. */
export type Suspect = {
  readonly environment: string;
  readonly code: string;
  readonly command: string | null;
  readonly rollouts: number;
};

/** By environment, code and last command, the most frequent first: what a policy has learnt stands at the top. */
export function suspectsOf(outlines: readonly Outline[]): readonly Suspect[] {
  const suspected = outlines.filter((one) => one.suspected !== null).map(suspectOf);
  const alike = Map.groupBy(suspected, (each) => JSON.stringify(each));
  return [...alike.values()]
    .flatMap(([first, ...rest]) => (first === undefined ? [] : [{ ...first, rollouts: rest.length + 1 }]))
    .toSorted((one, other) => other.rollouts - one.rollouts);
}

function suspectOf({ environment, verdict, lastCommand }: Outline): Omit<Suspect, 'rollouts'> {
  // Scored: its grader ended badly, and the environment says what that is worth.
  const code = verdict?.kind === 'discard' ? verdict.code : 'scored';
  return { environment, code, command: lastCommand };
}
