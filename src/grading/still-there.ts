import { targetOf } from '../claiming/target.ts';
import { asFailure, type Failure, sandboxdUnreachable } from '../failure/failure.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import { LinkError, type SandboxLink, type SandboxTarget } from '../ports/sandbox-link.ts';
import type { Deadline } from '../waiting/deadline.ts';
import { NotYet, type RetryDeps, retrying } from '../waiting/retries.ts';
import { retryPolicies } from '../waiting/retry-policies.ts';
import type { GradeJob } from './job.ts';
import { nextStep } from '../calls/next-step.ts';
import { refusal } from '../claiming/refusal.ts';
import type { FailureCode } from '../failure/codes.ts';
import type { ClaimStore } from '../ports/fleet/claims.ts';
import type { LifecycleStore } from '../ports/fleet/lifecycle.ts';

/**
 * Whether the sandbox of a rollout that is graded still stands: asked once before all else (`checkStillThere`), and again
 * whenever a connection breaks while the grader runs in it (`whileItStands`). What no answer means is decided in
 * one place for both, `recordAfterTrouble`.
 */

export type TroubleDeps = RetryDeps & {
  readonly claims: Pick<ClaimStore, 'find'>;
  readonly lifecycle: Pick<LifecycleStore, 'lose'>;
};

export type StillThereDeps = TroubleDeps & {
  readonly link: Pick<SandboxLink, 'identity'>;
  readonly lifecycle: Pick<LifecycleStore, 'unserved'>;
};

/** It answers at once, also while commands run. */
const answerMs = 5_000;

/**
 * A rollout is scored only while the very sandbox that ran its calls still answers. Fleet state may not have heard of
 * a loss yet, and the grader is the last veto. One that the policy broke itself need not answer. Throws the taint's
 * code when it is lost, and `sandboxd_unreachable` when nobody can say now or nothing had run in it: then the
 * rollout has, or gets, another. Whoever asks for the grade looks again from the top.
 */
export async function checkStillThere(
  deps: StillThereDeps,
  rollout: RolloutRecord,
  until: Deadline,
): Promise<void> {
  const target = targetOf(rollout);
  try {
    await askWhoLivesThere(deps, target, until);
  } catch (thrown) {
    if (!(thrown instanceof LinkError)) throw thrown;
    const now = await recordAfterTrouble(deps, rollout, thrown);
    if (now.verdict === 'broken' || now.verdict === 'scored') return;
    await deps.lifecycle.unserved(rollout.key);
    const message = 'the sandbox does not answer, so its rollout is not graded for now';
    throw sandboxdUnreachable(message, { evidence: { sandbox: target.sandbox, ...maybePolicy } });
  }
}

/** Throws `other_boot` where another life answers, whoever finds it out. */
async function askWhoLivesThere(
  { link }: StillThereDeps,
  target: SandboxTarget,
  deadline: Deadline,
): Promise<void> {
  const waitMs = Math.max(1, Math.min(answerMs, deadline.remainingMs));
  const { boot } = await link.identity(target, AbortSignal.timeout(waitMs));
  if (boot !== target.boot) throw new LinkError({ kind: 'other_boot', boot });
}

/** The policy broke its sandbox, as fleet state has heard meanwhile; `message` is the reason, for a person. */
export class PolicyBrokeIt extends Error {}

/**
 * Asks the sandbox of a grading until it answers. A connection that breaks is no fault of the grader's and costs it no
 * turn: each step is one that may be asked again, so it is, until the turn's own deadline. Throws what bars the rollout
 * when its sandbox is lost or its end came, `PolicyBrokeIt`, a `LinkError` where sandboxd itself refused, and
 * `sandboxd_unreachable` at the deadline.
 */
export async function whileItStands<Result>(
  deps: TroubleDeps,
  job: Pick<GradeJob, 'rollout' | 'deadline'>,
  step: () => Promise<Result>,
): Promise<Result> {
  const attempt = async () => {
    try {
      return await step();
    } catch (thrown) {
      if (!(thrown instanceof LinkError) || !isOfConnection(thrown)) throw thrown;
      const { broken } = await recordAfterTrouble(deps, job.rollout, thrown);
      if (broken !== null) throw new PolicyBrokeIt(broken);
      throw new NotYet(silentUntilDeadline(thrown));
    }
  };
  return retrying(deps, retryPolicies.graderConnection, attempt, { until: job.deadline });
}

function silentUntilDeadline(error: LinkError): Failure {
  const message = `the sandbox did not answer for as long as its rollout may be graded: ${error.message}`;
  return sandboxdUnreachable(message, { admitted: 'unknown', cause: error, evidence: maybePolicy });
}

/** The policy may have starved a sandbox that does not respond. If the last turn fails for this, its discard keeps the mark. */
export const maybePolicy = { suspected: 'command' } as const;

/** Whether only the connection failed, so that the same question may be asked again. Else sandboxd itself refused. */
function isOfConnection({ trouble }: LinkError): boolean {
  return ['again', 'lose'].includes(nextStep(trouble).kind);
}

/**
 * What has become of a rollout whose sandbox gave no answer while it was graded: a broken connection by itself says
 * nothing. An answer of another life tells of a loss; else fleet state may know of one. Returns the record as it stands,
 * where asking again may help. Throws what bars the rollout: the code of its taint, or of its end.
 */
async function recordAfterTrouble(
  deps: TroubleDeps,
  rollout: RolloutRecord,
  error: LinkError,
): Promise<RolloutRecord> {
  const step = nextStep(error.trouble);
  if (step.kind === 'lose') {
    const { sandbox, boot } = targetOf(rollout);
    const evidence = { seen_by: 'grading', detail: error.message, ...step.evidence };
    await deps.lifecycle.lose(sandbox, boot, step.cause, evidence);
  }
  const now = await recordNow(deps, rollout);
  const barred = barsGrading(now);
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

/** A score that stands, and one that a broken sandbox still gets, do not depend on it. */
function barsGrading({ verdict, barred }: RolloutRecord): FailureCode | null {
  return verdict === 'scored' || verdict === 'broken' ? null : barred;
}

function swapped({ epoch }: RolloutRecord): Failure {
  const message = 'the sandbox of the rollout was gone before anything had run in it; ask again';
  return sandboxdUnreachable(message, { evidence: { sandbox: epoch?.sandbox ?? null } });
}
