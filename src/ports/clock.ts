/** Time as an argument. `nowMs` only for display and records; waits and durations use `monotonicMs`. */
export interface Clock {
  /** Wall clock, milliseconds since the epoch. */
  nowMs(): number;
  /** Never runs backwards; milliseconds from an arbitrary start. */
  monotonicMs(): number;
  /** Resolves after `durationMs`, or at once when the signal aborts (it never rejects). */
  sleep(durationMs: number, signal?: AbortSignal): Promise<void>;
}
