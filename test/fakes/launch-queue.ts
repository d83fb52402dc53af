import type { LaunchQueue, Ticket } from '#src/ports/launch-queue.ts';

export type FakeLaunchQueue = LaunchQueue & {
  /** How many tickets each `offer` asked for. */
  readonly offers: number[];
};

/** Hands tickets to whoever works in this process; a ticket whose handler throws waits again, as in a real queue. */
export function createFakeLaunchQueue(max = 8): FakeLaunchQueue {
  const offers: number[] = [];
  const waiting: string[] = [];
  let running = 0;
  let made = 0;
  let wake: (() => void) | null = null;

  const work: LaunchQueue['work'] = async (concurrency, handle, signal) => {
    const stopped = Promise.withResolvers<void>();
    signal.addEventListener('abort', () => stopped.resolve(), { once: true });
    const busy = new Set<Promise<void>>();
    while (!signal.aborted) {
      const changed = Promise.withResolvers<void>();
      wake = () => changed.resolve();
      while (busy.size < concurrency) {
        const ticket = waiting.shift();
        if (ticket === undefined) break;
        running += 1;
        const job = handle(untold(ticket), signal)
          .then(
            () => undefined,
            () => void waiting.push(ticket),
          )
          .finally(() => {
            running -= 1;
            busy.delete(job);
            wake?.();
          });
        busy.add(job);
      }
      await Promise.race([changed.promise, stopped.promise]);
    }
    await Promise.all(busy);
  };

  return {
    offers,
    offer: (count) => {
      offers.push(count);
      while (waiting.length + running < Math.min(count, max)) {
        made += 1;
        waiting.push(`ticket-${made}`);
      }
      wake?.();
      return Promise.resolve();
    },
    work,
    counts: () => {
      const others = { delayed: 0, prioritized: 0, failed: 0, completed: 0 };
      return Promise.resolve({ wait: waiting.length, active: running, ...others });
    },
    depth: () => Promise.resolve(waiting.length + running),
    close: () => Promise.resolve(),
  };
}

/** A ticket of which nobody hears what its launch tells. */
export const untold = (name: string): Ticket => ({
  name,
  offeredAtMs: 0,
  reserved: () => undefined,
  stands: () => undefined,
});
