import type { Scheduler } from './scheduler.ts';

/**
 * Lets `AbortSignal.timeout` and `setImmediate` follow the world's clock while `work` runs: the product gives its
 * outgoing requests such deadlines and gathers the claims of one turn, and a machine's own timers have no place in a
 * world whose hours pass in milliseconds.
 */
export async function withTimersOf<Result>(
  scheduler: Scheduler,
  work: () => Promise<Result>,
): Promise<Result> {
  const giveBack = [
    replace(AbortSignal, 'timeout', (durationMs: number) => {
      const deadline = new AbortController();
      scheduler.after(durationMs, 'deadline', 'passes', () => deadline.abort(timedOut));
      return deadline.signal;
    }),
    replace(globalThis, 'setImmediate', (run: () => void) => scheduler.after(0, 'turn', 'ends', run)),
  ];
  try {
    return await work();
  } finally {
    for (const give of giveBack) give();
  }
}

/** Returns how to give back what was there. */
function replace(owner: object, name: string, value: unknown): () => void {
  const machines = Object.getOwnPropertyDescriptor(owner, name);
  Object.defineProperty(owner, name, { value, configurable: true, writable: true });
  return () => {
    if (machines !== undefined) Object.defineProperty(owner, name, machines);
  };
}

/** One for all: its stack would cost more than the request that it ends. */
const timedOut = new DOMException('The operation was aborted due to timeout', 'TimeoutError');
