import type { Face } from '../model/face.ts';
import type { Timings } from '../model/timings.ts';
import type { CallStore } from '../ports/fleet/calls.ts';
import type { Clock } from '../ports/clock.ts';
import { type CallRequest, maxPauseFactor } from '../protocol/sandboxd/wire.ts';
import type { Deadline } from '../waiting/deadline.ts';
import { orNull } from './or-null.ts';
import type { Admissible } from './work.ts';

type Bound = Pick<CallRequest, 'startWithinMs'>;

export type StartBoundDeps = {
  readonly calls: Pick<CallStore, 'timeLeft'>;
  readonly clock: Clock;
};

/**
 * While fleet state cannot be asked, no rollout's time passes, so a queue may go on for as long as one held request. The next
 * request asks again.
 */
export const unaskedMs = 30_000;

/**
 * For how long a call may still wait for its turn in the sandbox: as long as its rollout has time. A policy can queue calls that
 * end many timeouts later, and would outlast its sandbox with them; its rollout would be discarded instead of scored. So no call
 * starts after that time, and its queue ends with the calls that run then.
 *
 * Each request to sandboxd carries what is left. When nothing is left by this process' clock, fleet state is asked, which
 * credits outages. Null `timeLeftMs`: no budget counts the call, so it has no bound.
 */
export function startBound(
  { calls, clock }: StartBoundDeps,
  { key, environment }: Pick<Admissible, 'key' | 'environment'>,
  timeLeftMs: number | null,
): () => Promise<Bound> {
  if (timeLeftMs === null) return async () => ({});
  const { rolloutMs } = environment.limits;
  let untilMs = clock.monotonicMs() + timeLeftMs;
  return async () => {
    if (clock.monotonicMs() >= untilMs) {
      const leftMs = (await orNull(() => calls.timeLeft(key, rolloutMs))) ?? unaskedMs;
      untilMs = clock.monotonicMs() + leftMs;
    }
    return { startWithinMs: Math.max(0, Math.ceil(untilMs - clock.monotonicMs())) };
  };
}

/**
 * For how long a call's clock may pause while the machine starves its sandbox. One request of the RFT face holds the wait and the command, so
 * pauses leave it the time to answer. A client that ends its own stream at the timeout (`killAtOnce`) would not read a later answer.
 */
export function longestPauseMs(
  { settleGraceMs }: Pick<Timings, 'settleGraceMs'>,
  face: Face,
  { timeoutMs, killAtOnce = false }: Pick<CallRequest, 'timeoutMs' | 'killAtOnce'>,
  deadline: Deadline,
): number {
  if (killAtOnce) return 0;
  const heldMs = face === 'rft' ? deadline.remainingMs - timeoutMs - settleGraceMs : Infinity;
  return Math.max(0, Math.min(maxPauseFactor * timeoutMs, heldMs));
}
