import type { CallStore } from '../ports/fleet/calls.ts';
import type { Clock } from '../ports/clock.ts';
import type { CallRequest } from '../protocol/sandboxd/wire.ts';
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
