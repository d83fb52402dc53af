/**
 * What rollouts that are over have left: `summaries` of their calls, for reports, or `answers`, for repeats. Their records stay: a call of a closed rollout is refused whatever else is forgotten.
 */
export type Leftover = 'summaries' | 'answers';

/** The memory of fleet state. Errors: `Failure` with `state_unavailable`. */
export interface FleetMemory {
  /** `limitBytes` null: there is no limit. */
  usage(): Promise<{ readonly usedBytes: number; readonly limitBytes: number | null }>;
  /**
   * Forgets leftovers that would be gone within `withinMs` anyway, and stops when no more than `untilBytes` are used.
   * Returns of how many rollouts. Never touches a rollout that is open.
   */
  forget(leftover: Leftover, withinMs: number, untilBytes: number): Promise<number>;
}
