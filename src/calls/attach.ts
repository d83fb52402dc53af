import { refusal } from '../claiming/refusal.ts';
import { targetOf } from '../claiming/target.ts';
import type { ResolvedRollout } from '../claiming/resolve-rollout.ts';
import { Failure, sandboxdUnreachable } from '../failure/failure.ts';
import type { CallId } from '../model/ids.ts';
import { isOver, type RolloutKey } from '../model/rollout.ts';
import type { CallStore, RecordedCall } from '../ports/fleet/calls.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import { LinkError, type SandboxLink } from '../ports/sandbox-link.ts';
import type { OutputStream } from '../protocol/sandboxd/wire.ts';
import type { Deadline } from '../waiting/deadline.ts';
import { type Ask, type CallResult, secondRunOf, type Tracked } from './work.ts';
import { awaitOngoing, type CarryOutDeps } from './run-call.ts';
import { trackedCall } from './plan-call.ts';
import { answerAgain } from './answer-again.ts';

export type AttachDeps = CarryOutDeps & { readonly link: Pick<SandboxLink, 'attach' | 'cancel' | 'output'> };

/**
 * The answer of a call that was sent before: recorded, or from the sandbox's journal, whichever gateway sent it and
 * whether or not that gateway is still there. Throws what `runCall` throws; what of it may pass is for the caller to try again.
 */
export async function attachToCall(
  deps: AttachDeps,
  known: Pick<ResolvedRollout, 'key' | 'claim' | 'environment' | 'known' | 'keyId'>,
  rollout: RolloutRecord,
  { summary, digest, repeated, setup }: RecordedCall,
  deadline: Deadline,
): Promise<CallResult> {
  const { call, tool } = summary;
  const work = trackedCall(known, call, tool, digest, setup);
  if (repeated !== null) return answerAgain(deps, work, { summary, repeated });
  const target = targetOf(rollout);
  const timeoutMs = knownTimeoutMs(work);
  const attachTo =
    (run: CallId): Ask =>
    (waitMs, signal) =>
      deps.link.attach(target, run, waitMs, signal);
  const [ask, askAgain] = [attachTo(call), attachTo(secondRunOf(call))];
  return awaitOngoing(deps, { work, rollout, timeoutMs, waitedMs: 0, sender: null, ask, askAgain }, deadline);
}

/** Throws `unknown_call`. */
export async function recordedCall(
  { calls }: { readonly calls: Pick<CallStore, 'lookup'> },
  rollout: RolloutKey,
  call: CallId,
): Promise<RecordedCall> {
  const recorded = await calls.lookup(rollout, call);
  if (recorded === null) throw new Failure('unknown_call', `the rollout has no call ${call}`);
  return recorded;
}

/** What fetching an output may take as a whole: two streams over a slow line. */
const outputMs = 10 * 60_000;

/**
 * What the sandbox has kept of a stream beside the answer, for as long as it has room; null: the policy broke it, and what the
 * answer carries is all that there is. Throws `answer_expired` where it has not, or has gone since, and `sandboxd_unreachable`,
 * which a repeat may fix, also where the bytes break off.
 */
export async function outputOf(
  { link }: { readonly link: Pick<SandboxLink, 'output'> },
  rollout: RolloutRecord,
  call: CallId,
  stream: OutputStream,
): Promise<AsyncIterable<Uint8Array> | null> {
  if (rollout.discarded !== null) throw refusal(rollout.discarded.code, rollout, 'yes');
  if (isOver(rollout.state)) throw expired(call);
  // It does not answer, or not as itself, and that must not keep the rollout from its low score.
  if (rollout.broken !== null) return null;
  try {
    return untilItBreaks(
      await link.output(targetOf(rollout), call, stream, AbortSignal.timeout(outputMs)),
      call,
    );
  } catch (thrown) {
    throw notFetched(thrown, call);
  }
}

async function* untilItBreaks(bytes: AsyncIterable<Uint8Array>, call: CallId): AsyncIterable<Uint8Array> {
  try {
    yield* bytes;
  } catch (thrown) {
    throw notFetched(thrown, call);
  }
}

function notFetched(thrown: unknown, call: CallId): unknown {
  if (!(thrown instanceof LinkError)) return thrown;
  if (thrown.trouble.kind === 'refused') return expired(call);
  const message = `the output was not fetched: ${thrown.message}; send the call again`;
  return sandboxdUnreachable(message, { admitted: 'yes', cause: thrown });
}

const expired = (call: CallId) =>
  new Failure('answer_expired', `the output of call ${call} is no longer kept`, { admitted: 'yes' });

/** How long a recorded call is waited for at most; what its request said is not kept. */
function knownTimeoutMs({ environment, tool }: Tracked): number {
  return environment.tools[tool]?.timeoutMs ?? longestAttachMs;
}

/** A native command's own longest timeout. */
const longestAttachMs = 3_600_000;
