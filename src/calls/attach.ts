import { targetOf } from '../claiming/target.ts';
import type { ResolvedRollout } from '../claiming/resolve-rollout.ts';
import { Failure } from '../failure/failure.ts';
import type { CallId } from '../model/ids.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import type { SandboxLink } from '../ports/sandbox-link.ts';
import type { Deadline } from '../waiting/deadline.ts';
import type { CallResult, Tracked } from './work.ts';
import { awaitOngoing, type CarryOutDeps } from './run-call.ts';
import { trackedCall } from './plan-call.ts';
import { answerFrom } from './settling.ts';

export type AttachDeps = CarryOutDeps & { readonly link: Pick<SandboxLink, 'attach' | 'cancel'> };

/**
 * The answer of a call that was sent before: recorded, or from the sandbox's journal, whichever gateway sent it and
 * whether or not that gateway is still there. Throws `unknown_call`, and what `runCall` throws; what of it may pass is for
 * the caller to try again.
 */
export async function attachToCall(
  deps: AttachDeps,
  known: Pick<ResolvedRollout, 'key' | 'claim' | 'environment' | 'known' | 'keyId'>,
  rollout: RolloutRecord,
  call: CallId,
  deadline: Deadline,
): Promise<CallResult> {
  const recorded = await deps.calls.lookup(known.key, call);
  if (recorded === null) throw new Failure('unknown_call', `the rollout has no call ${call}`);
  const work = trackedCall(known, call, recorded.summary.tool, recorded.digest);
  if (recorded.summary.state === 'settled') return answerFrom(deps, work, recorded);
  const target = targetOf(rollout);
  const timeoutMs = knownTimeoutMs(work);
  const ask = (waitMs: number, signal: AbortSignal) => deps.link.attach(target, call, waitMs, signal);
  return awaitOngoing(deps, { work, rollout, timeoutMs, waitedMs: 0, toSend: false, ask }, deadline);
}

/** How long a recorded call is waited for at most; what its request said is not kept. */
function knownTimeoutMs({ environment, tool }: Tracked): number {
  return environment.tools[tool]?.timeoutMs ?? longestAttachMs;
}

/** A native command's own longest timeout. */
const longestAttachMs = 3_600_000;
const cancelMs = 10_000;

/** Stops a running call; it settles as `cancelled` for whoever waits for it. Idempotent. */
export async function cancelCall(deps: AttachDeps, rollout: RolloutRecord, call: CallId): Promise<void> {
  const recorded = await deps.calls.lookup(rollout.key, call);
  if (recorded === null) throw new Failure('unknown_call', `the rollout has no call ${call}`);
  if (recorded.summary.state === 'settled') return;
  await deps.link.cancel(targetOf(rollout), call, AbortSignal.timeout(cancelMs));
}
