import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import { errorFields } from './logging.ts';

export type Loop = {
  /** Something may have changed: run soon instead of at the next interval. A hint; may be called at any rate. */
  readonly poke: () => void;
  /** Resolves when the signal has aborted and the step that was running has ended. */
  readonly done: Promise<void>;
};

type LoopOptions = {
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

/**
 * Read again and again instead of watched: a mounted Secret changes by a swap of links, which file watches miss. Five
 * seconds are soon enough for a revoked key and nothing for a small file.
 */
const rereadMs = 5_000;

type Reread = {
  /** What the file holds, for people: `keys`. */
  readonly what: string;
  /** Reads it, takes it in force if it is another than before, and then returns what the log says of it; null: it is the same. */
  readonly refresh: () => Promise<Readonly<Record<string, string | number>> | null>;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
};

/** Takes changes of a file in force until the signal aborts; a broken file is told and changes nothing. */
export function reread({ what, refresh, clock, log, signal }: Reread): Loop {
  const onError = (thrown: unknown) =>
    log.error(`the file of the ${what} cannot be used; the ${what} stay as they were`, errorFields(thrown));
  return every({ intervalMs: rereadMs, clock, signal, onError }, async () => {
    const news = await refresh();
    if (news !== null) log.info(`the ${what} have changed`, news);
  });
}
