import { lastCommandOf } from '../../src/reports/rollout-story.ts';
import type { RolloutStory } from '../../src/reports/rollout-story.ts';

/** Rollouts that ended in the same way after the same last command, of which nobody can tell whether it was the cause. */
export type Suspect = {
  readonly environment: string;
  readonly code: string;
  readonly command: string | null;
  readonly rollouts: number;
};

/** By environment, code and last command, the most frequent first: what a policy has learnt stands at the top. */
export function suspectsOf(stories: readonly RolloutStory[]): readonly Suspect[] {
  const suspected = stories.filter((story) => story.suspected !== null).map(suspectOf);
  const alike = Map.groupBy(suspected, (each) => JSON.stringify(each));
  return [...alike.values()]
    .flatMap(([first, ...rest]) => (first === undefined ? [] : [{ ...first, rollouts: rest.length + 1 }]))
    .toSorted((one, other) => other.rollouts - one.rollouts);
}

function suspectOf(story: RolloutStory): Omit<Suspect, 'rollouts'> {
  const { environment, verdict } = story;
  // Scored: its grader ended badly, and the environment says what that is worth.
  const code = verdict?.kind === 'discard' ? verdict.code : 'scored';
  return { environment, code, command: lastCommandOf(story) };
}
