import type { FailureCode } from '../failure/codes.ts';
import type { RolloutKey } from '../model/rollout.ts';
import type { Launch } from './fleet/pool.ts';

/** The launch of one sandbox in the hands of a worker. */
export type LaunchJob = {
  readonly launch: Launch;
  /** When it was reserved, on the clock of the process that did. */
  readonly addedAtMs: number;
  /** A worker had it before, its start had another job, or it has waited for long: its start may be over. */
  readonly mayBeOver: boolean;
  /** Shows how far it is to people who look at the queue. Decides nothing, waits for nothing and never fails a launch. */
  readonly stands: (step: string) => void;
};

/** What became of a launch, shown in the same way. */
export type LaunchEnd =
  /** Its start was over before this worker began. */
  | { readonly kind: 'over' }
  /** `rollout`: who had waited for it. */
  | { readonly kind: 'ready'; readonly rollout: RolloutKey | null }
  /** Written down in fleet state; it is not tried again. */
  | { readonly kind: 'failed'; readonly code: FailureCode; readonly message: string };

export type HandleLaunch = (job: LaunchJob, signal: AbortSignal) => Promise<LaunchEnd>;

/** Launches by what they do. */
export type QueueCounts = Readonly<Record<QueueState, number>>;

/** As BullMQ says: `delayed` waits between two tries, `completed` and `failed` are those that are still kept. */
export const queueStates = ['wait', 'active', 'delayed', 'prioritized', 'failed', 'completed'] as const;
export type QueueState = (typeof queueStates)[number];

/** Reserved launches as jobs, each named by its sandbox, so that a sandbox never has two. */
export interface LaunchQueue {
  add(launches: readonly Launch[]): Promise<void>;
  /** Gives a job to each of these starts whose job is missing or over. */
  addMissing(starts: readonly Launch[]): Promise<void>;
  /**
   * Runs launches, at most `concurrency` at once, until the signal aborts; resolves when running ones are done. A launch
   * whose handler throws is handed out again.
   */
  work(concurrency: number, handle: HandleLaunch, signal: AbortSignal): Promise<void>;
  counts(): Promise<QueueCounts>;
  close(): Promise<void>;
}

/** A launch as its job shows it, on the clocks of controllers. */
export type ShownLaunch = {
  readonly launch: Launch;
  /** Since when it waits or runs, or when it ended. */
  readonly atMs: number;
} & (
  | { readonly state: 'waiting' | 'running' }
  /** `tookMs`: from its reservation to its end. */
  | { readonly state: 'ready'; readonly tookMs: number; readonly rollout: RolloutKey | null }
  | { readonly state: 'failed'; readonly tookMs: number; readonly failure: string }
);

/** For people: what is launched, for whom, and what became of it. */
export interface LaunchBoard {
  /** The newest first. */
  recent(most: number): Promise<readonly ShownLaunch[]>;
  close(): Promise<void>;
}
