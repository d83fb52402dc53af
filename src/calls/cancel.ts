import { targetOf } from '../claiming/target.ts';
import type { ResolvedRollout } from '../claiming/resolve-rollout.ts';
import { sandboxdUnreachable } from '../failure/failure.ts';
import type { CallId } from '../model/ids.ts';
import { isOver } from '../model/rollout.ts';
import type { ClaimStore } from '../ports/fleet/claims.ts';
import type { CallSummary, RolloutRecord } from '../ports/fleet/records.ts';
import { LinkError, type SandboxLink } from '../ports/sandbox-link.ts';
import { cancelledUnbegun } from './judge-call.ts';
import { trackedCall } from './plan-call.ts';
import { settle, type SettlingDeps } from './settling.ts';
import { secondRunOf } from './work.ts';

export type StopDeps = { readonly link: Pick<SandboxLink, 'cancel'> };

/** What a cancel found. `waiting`: the rollout has no sandbox yet, so its call waits in line. */
export type Cancelled = { readonly began: boolean; readonly waiting: boolean };

/**
 * Cancels a call. A call that fleet state does not have yet, because its request still waits for a sandbox or is on its way, settles
 * as `cancelled` before its admission: it never runs, whichever gateway holds its request. A call that was sent is stopped in its
 * sandbox. Idempotent. Throws `sandboxd_unreachable` if that sandbox does not answer.
 */
export async function cancelCall(
  deps: SettlingDeps & StopDeps & { readonly claims: Pick<ClaimStore, 'find'> },
  known: Pick<ResolvedRollout, 'key' | 'claim' | 'environment' | 'known' | 'keyId'>,
  rollout: RolloutRecord,
  call: CallId,
): Promise<Cancelled> {
  const waiting = rollout.state === 'waiting' || rollout.state === 'claimed';
  const recorded = await deps.calls.lookup(rollout.key, call);
  // Such a rollout admits no call. Recorded as cancelled, a call that was refused for it would get an answer when it is repeated.
  if (recorded === null && (isOver(rollout.state) || rollout.barred !== null))
    return { began: false, waiting: false };
  const summary = recorded?.summary ?? (await settleUnbegun(deps, known, call));
  if (summary.state === 'dispatched') {
    // A call that was admitted meanwhile went to a sandbox that `rollout` does not have yet.
    const now = recorded === null ? await deps.claims.find(rollout.owner, rollout.owner.attempt) : null;
    await stopOnceArrived(deps, now ?? rollout, call);
  }
  const began = !neverBegan(summary);
  return { began, waiting: !began && waiting };
}

/** The request has no tool or arguments of the call, and any of them may come later under its id. */
async function settleUnbegun(
  deps: SettlingDeps,
  known: Parameters<typeof trackedCall>[0],
  call: CallId,
): Promise<CallSummary> {
  const work = trackedCall(known, call, unknownTool, '');
  return (await settle(deps, work, cancelledUnbegun(work), 0)).summary;
}

/**
 * Fleet state has a call as dispatched a moment before its sandbox receives it, so a sandbox that does not have it yet is asked
 * again. One that went down under the call cannot be asked, and needs not be: then the call is settled.
 */
async function stopOnceArrived(
  deps: SettlingDeps & StopDeps,
  rollout: RolloutRecord,
  call: CallId,
): Promise<void> {
  const untilMs = deps.clock.monotonicMs() + arrivesWithinMs;
  for (;;) {
    try {
      return await stopCall(deps, rollout, call);
    } catch (thrown) {
      if ((await deps.calls.lookup(rollout.key, call))?.summary.state === 'settled') return;
      const isOnItsWay = thrown instanceof Error && isUnknown(thrown.cause);
      if (!isOnItsWay || deps.clock.monotonicMs() >= untilMs) throw thrown;
    }
    await deps.clock.sleep(askAgainMs);
  }
}

/** As long as one request takes at most to reach a sandbox that answers others. */
const arrivesWithinMs = 5_000;
const askAgainMs = 100;

const unknownTool = 'unknown';

/** Whether a call was cancelled before its admission: it ran nowhere. */
export const neverBegan = ({ outcome, admitted }: Pick<CallSummary, 'outcome' | 'admitted'>): boolean =>
  outcome === 'cancelled' && admitted === 'no';

const cancelMs = 10_000;

/**
 * Stops a call that was sent; it settles as `cancelled` for each request that waits for it. Throws `sandboxd_unreachable` if its sandbox does
 * not answer: if that is gone, the rollout's state says so soon.
 */
export async function stopCall({ link }: StopDeps, rollout: RolloutRecord, call: CallId): Promise<void> {
  try {
    const cancel = (run: CallId) => link.cancel(targetOf(rollout), run, AbortSignal.timeout(cancelMs));
    await cancel(call);
    await cancel(secondRunOf(call)).catch(unlessUnknown);
  } catch (thrown) {
    if (!(thrown instanceof LinkError)) throw thrown;
    const message = `call ${call} was not stopped: ${thrown.message}; ask again`;
    throw sandboxdUnreachable(message, { admitted: 'yes', cause: thrown });
  }
}

/** Hardly any call runs a second time. */
function unlessUnknown(thrown: unknown): void {
  if (!isUnknown(thrown)) throw thrown;
}

const isUnknown = (thrown: unknown): boolean =>
  thrown instanceof LinkError && thrown.trouble.kind === 'refused' && thrown.trouble.code === 'unknown_call';
