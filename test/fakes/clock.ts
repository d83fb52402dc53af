import type { Clock } from '#src/ports/clock.ts';

export type FakeClock = Clock & {
  /** Moves time on, waking sleepers in the order of their times and letting each run before the next. */
  advance(durationMs: number): Promise<void>;
  /** How many sleep now. */
  sleeping(): number;
};

type Sleeper = { readonly untilMs: number; readonly wake: () => void };

/** A clock that stands still until it is told to move. */
export function createFakeClock(startMs = 1_000_000): FakeClock {
  let timeMs = startMs;
  const sleepers = new Set<Sleeper>();

  const sleep = (durationMs: number, signal?: AbortSignal): Promise<void> => {
    if (signal?.aborted === true) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        sleepers.delete(sleeper);
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      const sleeper = { untilMs: timeMs + durationMs, wake };
      sleepers.add(sleeper);
      signal?.addEventListener('abort', wake, { once: true });
    });
  };

  const advance = async (durationMs: number) => {
    const untilMs = timeMs + durationMs;
    await settled();
    for (;;) {
      const [next] = [...sleepers].sort((a, b) => a.untilMs - b.untilMs);
      if (next === undefined || next.untilMs > untilMs) break;
      timeMs = next.untilMs;
      next.wake();
      await settled();
    }
    timeMs = untilMs;
  };

  return {
    nowMs: () => timeMs,
    monotonicMs: () => timeMs,
    sleep,
    advance,
    sleeping: () => sleepers.size,
  };
}

/** Resolves when everything that can go on without time or I/O has gone on. */
export async function settled(): Promise<void> {
  // Each turn of the event loop empties the microtask queue; a few, because work may hop between them.
  for (let turn = 0; turn < 3; turn += 1) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}
