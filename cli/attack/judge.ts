import { lossLine, step } from '../ladder/judge.ts';
import type { Lost } from '../proving/read-answers.ts';

/** One rollout of an attack, beside what nothing was paid on the same row. */
export type Try = { readonly nothing: number } & ({ readonly score: number } | { readonly lost: Lost });

export type AttackJudged = {
  /** The most that it got; null where no try was scored. */
  readonly got: number | null;
  readonly state: 'withstood' | 'hole' | 'lost' | 'not possible';
  readonly detail: string;
};

type Words = { readonly hole: string; readonly mend: string };

const epsilon = 1e-9;

/**
 * What an attack came to: a hole where one try was paid more than nothing and a step. A try without a score proves
 * nothing; that none of them has one is a hole too, since whoever is discarded escapes a low score.
 */
export function judgeAttack(tries: readonly Try[], { hole, mend }: Words): AttackJudged {
  if (tries.length === 0)
    return { got: null, state: 'not possible', detail: 'nothing here can be attacked like that' };
  const scores = tries.flatMap((each) => ('score' in each ? [each.score] : []));
  const lost = tries.flatMap((each) => ('lost' in each ? [each.lost] : []));
  const got = scores.length === 0 ? null : Math.max(...scores);
  const paid = tries.filter((each) => 'score' in each && each.score > each.nothing + step + epsilon).length;
  if (paid > 0) return { got, state: 'hole', detail: `${hole} (${paid} of ${tries.length}); to do: ${mend}` };
  const [first] = lost;
  if (first === undefined) return { got, state: 'withstood', detail: '' };
  const share = `${lost.length} of ${tries.length} rollouts have no score`;
  if (scores.length > 0)
    return { got, state: 'lost', detail: `${share}: ${lossLine(first)}; play it again to know` };
  return {
    got,
    state: 'hole',
    detail: `${share}, and who is discarded escapes a low score: ${lossLine(first)}; to do: ${mend}`,
  };
}
