import type { CallRequest } from '#src/protocol/sandboxd/wire.ts';

/** For how long a call may run from its start on, and for how long its clock may pause meanwhile. */
export type CallClock = { readonly timeoutMs: number; readonly maxPauseMs: number };

/** At the moment of the start; infinite if nothing bounds it. */
export type TimeLeft = {
  /** Of the rollout's own time: `startWithinMs` of the request. */
  readonly rolloutMs: number;
  /** Until the sandbox ends itself. */
  readonly lifeMs: number;
};

/**
 * Null: the call waited for too long and may not start. Pauses end with the time that the call may run beyond its rollout's time, because
 * `limits.hard_life` leaves only that before the grade. A command of the trainer is not bound by its rollout's time. Its pauses
 * leave half of what the sandbox has left after its timeout.
 */
export function clockAtStart(
  { timeoutMs, overtimeMs, maxPauseMs = 0 }: Pick<CallRequest, 'timeoutMs' | 'overtimeMs' | 'maxPauseMs'>,
  { rolloutMs, lifeMs }: TimeLeft,
): CallClock | null {
  if (rolloutMs <= 0) return null;
  const startMs = Math.min(timeoutMs, Math.ceil(rolloutMs) + (overtimeMs ?? Infinity));
  const beyondMs = Math.ceil(rolloutMs) + (overtimeMs ?? timeoutMs) - startMs;
  const sparedMs = Math.floor((lifeMs - startMs) / 2);
  return { timeoutMs: startMs, maxPauseMs: Math.max(0, Math.min(maxPauseMs, beyondMs, sparedMs)) };
}
