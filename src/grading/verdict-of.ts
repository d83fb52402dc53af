import { discardFor, type Verdict } from '../failure/verdict.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';

/** What the trainer may do with a rollout as it stands. Taint comes first: a score that a loss overtook is no score. */
export function verdictOf(rollout: RolloutRecord): Verdict {
  const { taint, state, score, discard } = rollout;
  if (taint !== null) return discardFor(taint.code, taint.cause);
  if (discard !== null) return { kind: 'discard', code: discard };
  if (state === 'expired' && score === null) return { kind: 'discard', code: 'rollout_expired' };
  return { kind: 'scorable' };
}
