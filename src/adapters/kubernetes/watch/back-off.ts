import type { Clock } from '#src/ports/clock.ts';
import type { Random } from '#src/ports/random.ts';
import { jittered, longestPauseMs } from '#src/waiting/retries.ts';
import { retryPolicies } from '#src/waiting/retry-policies.ts';

/** Pauses between tries that bring nothing: doubled each time, so that a server in trouble is not asked to death. */
export type BackOff = {
  /** Something came: the next pause is the first again. */
  readonly reset: () => void;
  pause(signal: AbortSignal): Promise<void>;
};

/** Many controllers are not to return as one. */
export function createBackOff(clock: Clock, random: Random): BackOff {
  let failed = 0;
  return {
    reset: () => {
      failed = 0;
    },
    pause: async (signal) => {
      failed += 1;
      const { pauses } = retryPolicies.clusterWatch;
      await clock.sleep(jittered(longestPauseMs(pauses, failed), random), signal);
    },
  };
}
