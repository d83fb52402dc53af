import { targetOf } from '../claiming/target.ts';
import { Failure } from '../failure/failure.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import { LinkError } from '../ports/sandbox-link.ts';
import type { SandboxLink, SandboxTarget } from '../ports/sandbox-link.ts';
import type { Deadline } from '../waiting/deadline.ts';
import { pauseMs } from '../waiting/patience.ts';
import { afterTrouble } from './sandbox-trouble.ts';
import type { TroubleDeps } from './sandbox-trouble.ts';

export type StillThereDeps = TroubleDeps & { readonly link: Pick<SandboxLink, 'identity'> };

/** How long a sandbox may refuse connections before grading gives up for now; its loss is noticed well within. */
const patienceMs = 10_000;
const answerMs = 5_000;

/**
 * A rollout is scored only while the very sandbox that ran its calls still answers. Fleet state may not have heard of
 * a loss yet, and the grader is the last veto. One that the policy broke itself need not answer. Throws the taint's
 * code when it is lost, and `sandboxd_unreachable` when nobody can say in time or nothing had run in it: then the
 * rollout has, or gets, another.
 */
export async function checkStillThere(
  deps: StillThereDeps,
  rollout: RolloutRecord,
  until: Deadline,
): Promise<void> {
  const target = targetOf(rollout);
  const deadline = until.orIn(patienceMs);
  for (let attempt = 0; !deadline.passed; attempt += 1) {
    try {
      await askWhoLivesThere(deps, target, deadline);
      return;
    } catch (thrown) {
      if (!(thrown instanceof LinkError)) throw thrown;
      const now = await afterTrouble(deps, rollout, thrown, deadline);
      if (now.broken !== null || now.score !== null) return;
    }
    await deps.clock.sleep(Math.min(pauseMs(attempt), deadline.remainingMs));
  }
  throw new Failure(
    'sandboxd_unreachable',
    'the sandbox does not answer, so its rollout is not graded for now',
    { evidence: { sandbox: target.sandbox } },
  );
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
