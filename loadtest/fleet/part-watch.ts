import type { Clock } from '#src/ports/clock.ts';

/** A part that is not back by then does not come back. */
const backDeadlineMs = 60_000;

export type PartWatch = {
  /** Told when a part says ready. */
  ready(part: string): void;
  /** Resolves when the part says ready the next time, with the moment; with Infinity when it does not. */
  backAtMs(part: string): Promise<number>;
};

/** Notices when a part is ready again. `nowMs` is what the moments are told in. */
export function watchParts(clock: Clock, nowMs: () => number): PartWatch {
  const waiting = new Map<string, (() => void)[]>();
  return {
    ready: (part) => {
      for (const resolve of waiting.get(part) ?? []) resolve();
      waiting.delete(part);
    },
    backAtMs: async (part) => {
      const done = new AbortController();
      const { promise, resolve } = Promise.withResolvers<boolean>();
      waiting.set(part, [...(waiting.get(part) ?? []), () => resolve(true)]);
      void clock.sleep(backDeadlineMs, done.signal).then(() => resolve(false));
      const back = await promise;
      done.abort();
      return back ? nowMs() : Infinity;
    },
  };
}
