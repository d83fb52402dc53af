import { nextStep } from '../calls/next-step.ts';
import { targetOf } from '../claiming/target.ts';
import { refusal } from '../claiming/refusal.ts';
import { Failure } from '../failure/failure.ts';
import type { Clock } from '../ports/clock.ts';
import type { ClaimStore } from '../ports/fleet/claims.ts';
import type { LifecycleStore } from '../ports/fleet/lifecycle.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import { LinkError } from '../ports/sandbox-link.ts';
import type { SandboxLink } from '../ports/sandbox-link.ts';
import { Deadline } from '../waiting/deadline.ts';
import { pauseMs } from '../waiting/patience.ts';

export type StillThereDeps = {
  readonly link: Pick<SandboxLink, 'identity'>;
  readonly claims: Pick<ClaimStore, 'find'>;
  readonly lifecycle: Pick<LifecycleStore, 'lose'>;
  readonly clock: Clock;
};

/** How long a sandbox may refuse connections before grading gives up for now; its loss is noticed well within. */
const patienceMs = 10_000;
const answerMs = 5_000;

/**
 * A rollout is scored only while the very sandbox that ran its calls still answers. Fleet state may not have heard of
 * a loss yet, and the grader is the last veto. One that the policy broke itself need not answer. Throws the taint's
 * code when it is lost, and `sandboxd_unreachable` when nobody can say or nothing had run in it: then the rollout has,
 * or gets, another.
 */
export async function checkStillThere(deps: StillThereDeps, rollout: RolloutRecord): Promise<void> {
  const target = targetOf(rollout);
  const deadline = Deadline.in(deps.clock, patienceMs);
  for (let attempt = 0; !deadline.passed; attempt += 1) {
    try {
      const identity = await deps.link.identity(target, AbortSignal.timeout(answerMs));
      if (identity.boot === target.boot) return;
      await loseTo(deps, rollout, `boot ${identity.boot} answered`);
    } catch (thrown) {
      if (!(thrown instanceof LinkError)) throw thrown;
      if (nextStep(thrown.trouble).kind === 'lose') await loseTo(deps, rollout, thrown.message);
    }
    if (await isBroken(deps, rollout)) return;
    await deps.clock.sleep(pauseMs(attempt));
  }
  throw new Failure(
    'sandboxd_unreachable',
    'the sandbox does not answer, so its rollout is not graded for now',
    {
      evidence: { sandbox: target.sandbox },
    },
  );
}

async function loseTo(deps: StillThereDeps, rollout: RolloutRecord, detail: string): Promise<void> {
  const { sandbox, boot } = targetOf(rollout);
  await deps.lifecycle.lose(sandbox, boot, 'boot_changed', { seen_by: 'grading', detail });
}

/** Whether the policy broke its sandbox, which is no veto. Throws as `checkStillThere` does. */
async function isBroken(deps: StillThereDeps, rollout: RolloutRecord): Promise<boolean> {
  const now = await deps.claims.find(rollout.owner, rollout.owner.attempt);
  if (now?.taint) throw refusal(now.taint.code, now);
  if (now !== null && now.epoch?.sandbox !== rollout.epoch?.sandbox) throw swapped(rollout);
  return now !== null && now.broken !== null;
}

function swapped({ epoch }: RolloutRecord): Failure {
  const message = 'the sandbox of the rollout was gone before anything had run in it; ask again';
  return new Failure('sandboxd_unreachable', message, { evidence: { sandbox: epoch?.sandbox ?? null } });
}
