import type { Clock } from '#src/ports/clock.ts';
import type { Random } from '#src/ports/random.ts';

/** Pauses between tries that bring nothing: doubled each time, so that a server in trouble is not asked to death. */
export type BackOff = {
  /** Something came: the next pause is the first again. */
  readonly reset: () => void;
  pause(signal: AbortSignal): Promise<void>;
};

/** A watch that was cut goes on at once, as far as a person can tell. */
const firstPauseMs = 100;
/** A server that was away for long is noticed within this. */
const longestPauseMs = 5_000;

/** Each pause is between half of its length and the whole, so that many controllers do not return as one. */
export function createBackOff(clock: Clock, random: Random): BackOff {
  let pauseMs = firstPauseMs;
  return {
    reset: () => {
      pauseMs = firstPauseMs;
    },
    pause: async (signal) => {
      const lengthMs = pauseMs * (0.5 + random.next() / 2);
      pauseMs = Math.min(pauseMs * 2, longestPauseMs);
      await clock.sleep(lengthMs, signal);
    },
  };
}
