import type { Scheduler } from './scheduler.ts';

/**
 * Lets `AbortSignal.timeout` follow the world's clock while `work` runs: the product gives its outgoing requests such
 * deadlines, and a machine's own timer has no place in a world whose hours pass in milliseconds.
 */
export async function withTimeoutsOf<Result>(
  scheduler: Scheduler,
  work: () => Promise<Result>,
): Promise<Result> {
  const machines = Object.getOwnPropertyDescriptor(AbortSignal, 'timeout');
  AbortSignal.timeout = (durationMs) => {
    const deadline = new AbortController();
    scheduler.after(durationMs, 'deadline', 'passes', () => deadline.abort(timedOut));
    return deadline.signal;
  };
  try {
    return await work();
  } finally {
    if (machines !== undefined) Object.defineProperty(AbortSignal, 'timeout', machines);
  }
}

/** One for all: its stack would cost more than the request that it ends. */
const timedOut = new DOMException('The operation was aborted due to timeout', 'TimeoutError');
