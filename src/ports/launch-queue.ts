import type { FailureCode } from '../failure/codes.ts';
import type { RolloutKey } from '../model/rollout.ts';
import type { LaunchReservation } from './fleet/pool.ts';

/**
 * A ticket in the hands of a worker. It is blank until its worker has reserved; from then on it tells what it is for and how
 * far that is, to people who look at the queue. Telling decides nothing, waits for nothing and never fails a launch.
 */
export type Ticket = {
  /** The same each time it is handed out. */
  readonly name: string;
  reserved(launch: LaunchReservation): void;
  stands(step: string): void;
};

/** What became of a ticket, told in the same way. */
export type LaunchEnd =
  /** Nothing was wanted any more. */
  | { readonly kind: 'nothing' }
  /** `rollout`: who had waited for it. */
  | { readonly kind: 'ready'; readonly rollout: RolloutKey | null }
  /** Written down in fleet state; the ticket is used. */
  | { readonly kind: 'failed'; readonly code: FailureCode; readonly message: string };

export type HandleTicket = (ticket: Ticket, signal: AbortSignal) => Promise<LaunchEnd>;

/** Tickets by what they do. */
export type QueueCounts = Readonly<Record<QueueState, number>>;

/** As BullMQ says: `delayed` waits between two tries, `completed` and `failed` are those that are still kept. */
export const queueStates = ['wait', 'active', 'delayed', 'prioritized', 'failed', 'completed'] as const;
export type QueueState = (typeof queueStates)[number];

/** Blank tickets for starting sandboxes; which template a ticket starts is decided when a worker holds a start slot. */
export interface LaunchQueue {
  /** Makes sure that `count` tickets wait or run; never more than `max` in the queue. */
  offer(count: number): Promise<void>;
  /**
   * Works off tickets, at most `concurrency` at once, until the signal aborts; resolves when running ones are done. A ticket
   * whose handler throws is handed out again.
   */
  work(concurrency: number, handle: HandleTicket, signal: AbortSignal): Promise<void>;
  /** Tickets that wait or run. */
  depth(): Promise<number>;
  counts(): Promise<QueueCounts>;
  close(): Promise<void>;
}
