import { discardFor, type Verdict } from '../failure/verdict.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';

/**
 * What the trainer may do with a rollout as it stands. Fleet state lets it have a taint or a score, whichever was first: a
 * taint is final and bars the score, a stored score was told and stands. In a record that has both, as one that a version
 * before wrote may, the loss is the truth.
 */
export function verdictOf(rollout: RolloutRecord): Verdict {
  const { taint, state, score, discard } = rollout;
  if (taint !== null) return discardFor(taint.code, taint.cause);
  if (discard !== null) return { kind: 'discard', code: discard };
  if (state === 'expired' && score === null) return { kind: 'discard', code: 'rollout_expired' };
  return { kind: 'scorable' };
}
