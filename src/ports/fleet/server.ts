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
