/** Blank tickets for starting sandboxes; which template a ticket starts is decided when a worker holds a start slot. */
export interface LaunchQueue {
  /** Makes sure that `count` tickets wait or run; never more than `max` in the queue. */
  offer(count: number): Promise<void>;
  /** Works off tickets, at most `concurrency` at once, until the signal aborts; resolves when running ones are done. */
  work(
    concurrency: number,
    handle: (ticket: string, signal: AbortSignal) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void>;
  /** Tickets that wait or run. */
  depth(): Promise<number>;
  close(): Promise<void>;
}
