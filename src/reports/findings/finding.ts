/** What a person should look at in a run, counted without a model. */
export type Finding = {
  readonly kind:
    | 'habit'
    | 'cheap_success'
    | 'discards'
    | 'one_node'
    | 'tail'
    | 'mistakes'
    | 'no_spread'
    | 'dead_part'
    | 'judge_suspect'
    | 'reward_jump'
    | 'incomplete_log';
  /** `bad`: look now. `look`: it may be in order. */
  readonly weight: 'bad' | 'look';
  readonly title: string;
  readonly text: string;
  /** What the policy, a grader or a trainer wrote of it; never part of a sentence. */
  readonly what: string | null;
  /** How many rollouts it is about, the newest of them, and all, in the order of their steps. */
  readonly rollouts: number;
  readonly examples: readonly string[];
  readonly ids: readonly string[];
  /** Orders findings of one weight. */
  readonly size: number;
};

const mostExamples = 5;

/** Which rollouts a finding is about. */
export function aboutRollouts(
  rollouts: readonly { readonly id: string }[],
): Pick<Finding, 'rollouts' | 'examples' | 'ids'> {
  const ids = rollouts.map(({ id }) => id);
  return { rollouts: ids.length, examples: ids.slice(-mostExamples), ids };
}

export const percent = (share: number): string => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
