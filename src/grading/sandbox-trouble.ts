import { nextStep } from '../calls/next-step.ts';
import { refusal } from '../claiming/refusal.ts';
import { targetOf } from '../claiming/target.ts';
import { asFailure, Failure } from '../failure/failure.ts';
import type { FailureCode } from '../failure/codes.ts';
import type { Clock } from '../ports/clock.ts';
import type { ClaimStore } from '../ports/fleet/claims.ts';
import type { LifecycleStore } from '../ports/fleet/lifecycle.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import type { LinkError } from '../ports/sandbox-link.ts';
import type { Deadline } from '../waiting/deadline.ts';
import { patiently } from '../waiting/patience.ts';

export type TroubleDeps = {
  readonly claims: Pick<ClaimStore, 'find'>;
  readonly lifecycle: Pick<LifecycleStore, 'lose'>;
  readonly clock: Clock;
};

/** Whether only the connection failed, so that the same question may be asked again. Else sandboxd itself refused. */
export function isOfConnection({ trouble }: LinkError): boolean {
  return ['again', 'lose'].includes(nextStep(trouble).kind);
}

/**
 * What has become of a rollout whose sandbox gave no answer while it was graded: a broken connection by itself says
 * nothing. An answer of another life tells of a loss; else fleet state may know of one. Returns the record as it stands,
 * where asking again may help. Throws what bars the rollout: the code of its taint, or of its end.
 */
export async function afterTrouble(
  deps: TroubleDeps,
  rollout: RolloutRecord,
  error: LinkError,
  deadline: Deadline,
): Promise<RolloutRecord> {
  const step = nextStep(error.trouble);
  if (step.kind === 'lose') {
    const { sandbox, boot } = targetOf(rollout);
    const evidence = { seen_by: 'grading', detail: error.message, ...step.evidence };
    await patiently(deps.clock, deadline, () => deps.lifecycle.lose(sandbox, boot, step.cause, evidence));
  }
  const now = await recordNow(deps, rollout);
  const barred = barredCode(now);
  if (barred !== null) throw refusal(barred, now);
  if (now.epoch?.sandbox !== rollout.epoch?.sandbox) throw swapped(rollout);
  return now;
}

/** Fleet state that cannot be asked right now says nothing; the sandbox is asked again all the same. */
async function recordNow({ claims }: TroubleDeps, rollout: RolloutRecord): Promise<RolloutRecord> {
  try {
    return (await claims.find(rollout.owner, rollout.owner.attempt)) ?? rollout;
  } catch (thrown) {
    if (asFailure(thrown).retry === 'no') throw thrown;
    return rollout;
  }
}

function barredCode({ taint, state, score }: RolloutRecord): FailureCode | null {
  if (taint !== null) return taint.code;
  if (score !== null) return null;
  if (state === 'expired') return 'rollout_expired';
  return state === 'closed' ? 'rollout_closed' : null;
}

function swapped({ epoch }: RolloutRecord): Failure {
  const message = 'the sandbox of the rollout was gone before anything had run in it; ask again';
  return new Failure('sandboxd_unreachable', message, { evidence: { sandbox: epoch?.sandbox ?? null } });
}
