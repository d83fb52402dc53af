import type { Clock } from '../ports/clock.ts';

export type Loop = {
  /** Something may have changed: run soon instead of at the next interval. A hint; may be called at any rate. */
  readonly poke: () => void;
  /** Resolves when the signal has aborted and the step that was running has ended. */
  readonly done: Promise<void>;
};

export type LoopOptions = {
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** A step's error is told and the loop goes on: one bad answer must not end what keeps the fleet alive. */
  readonly onError: (thrown: unknown) => void;
};

/**
 * Pokes that come within this time after a step are answered by one step together. Short beside a sandbox's start
 * (150 ms and more), long beside a script's millisecond: 500 claims in one instant cost a few steps, not 500.
 */
const restMs = 5;

/** Runs `step` at once, then after every interval and every poke, never twice at a time, until the signal aborts. */
export function every(options: LoopOptions, step: (signal: AbortSignal) => Promise<void>): Loop {
  const bell = createBell();
  return { poke: bell.ring, done: run(options, bell, step) };
}

async function run(
  { intervalMs, clock, signal, onError }: LoopOptions,
  bell: Bell,
  step: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  signal.addEventListener('abort', bell.ring, { once: true });
  while (!signal.aborted) {
    bell.reset();
    try {
      await step(signal);
    } catch (thrown) {
      if (!signal.aborted) onError(thrown);
    }
    const endedAtMs = clock.monotonicMs();
    await clock.sleep(intervalMs, bell.rung());
    const restedMs = clock.monotonicMs() - endedAtMs;
    if (restedMs < restMs) await clock.sleep(restMs - restedMs, signal);
  }
}

/** Rung by pokes and by the end: one signal for both, because joining two for each turn is most of what an idle loop costs. */
type Bell = {
  readonly ring: () => void;
  readonly reset: () => void;
  readonly rung: () => AbortSignal;
};

// A poke that arrives while the step runs must not be lost: it stays rung until the next step has begun.
function createBell(): Bell {
  let controller = new AbortController();
  return {
    ring: () => controller.abort(),
    reset: () => {
      if (controller.signal.aborted) controller = new AbortController();
    },
    rung: () => controller.signal,
  };
}
