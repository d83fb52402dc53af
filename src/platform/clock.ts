import type { Clock } from '../ports/clock.ts';

/** The machine's own clocks. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep,
};

// Hand-written because `timers/promises` rejects on abort, and a sleeper that is told to stop has not failed.
function sleep(durationMs: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return Promise.resolve();
  return new Promise((resolve) => {
    const wake = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', wake);
      resolve();
    };
    const timer = setTimeout(wake, durationMs);
    signal?.addEventListener('abort', wake, { once: true });
  });
}
