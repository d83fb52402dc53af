/** What holds fleet state, as it describes itself. */
export type StateServer = {
  readonly version: string;
  /** What it does when its memory is full; anything but `noeviction` forgets rollouts. */
  readonly evictionPolicy: string;
  /** Null: no limit of its own, so the machine's. */
  readonly memoryLimitBytes: number | null;
  /** Whether every write goes to disk: without it a restart forgets scores and reports of closed rollouts. */
  readonly appendOnly: boolean;
};

/** Whether fleet state can be used now. `server`: as it was when last reached; null: not since the process began. */
export type StateHealth = {
  readonly state: 'up' | 'recovering' | 'away';
  /** Why it is not up, in words. */
  readonly reason: string | null;
  readonly server: StateServer | null;
};

/**
 * What rollouts that are over have left beside their line: `details` of their records, for people; `summaries` of their calls
 * and their `answers`, for repeats. Their lines stay: what comes again is refused whatever else is forgotten.
 */
export type Leftover = 'details' | 'summaries';

/** By the life that something has left; both ends are included. */
export type LifeLeft = { readonly fromMs: number; readonly toMs: number };

/** The memory of fleet state. Errors: `Failure` with `state_unavailable`. */
export interface FleetMemory {
  /** `limitBytes` null: there is no limit. */
  usage(): Promise<{ readonly usedBytes: number; readonly limitBytes: number | null }>;
  /**
   * Forgets leftovers that would be gone by themselves after so long, and stops when no more than `untilBytes` are used.
   * Returns of how many rollouts. Never touches a rollout that is open, nor the line of one that is over.
   */
  forget(leftover: Leftover, left: LifeLeft, untilBytes: number): Promise<number>;
  /** Until then no rollout is opened; those that are open go on. */
  refuseOpens(forMs: number): Promise<void>;
}
