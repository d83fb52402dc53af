import { Failure } from '#src/failure/failure.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { Log } from '#src/ports/log.ts';
import { connectFleetState, type FleetState, type FleetStateOptions } from './fleet-state.ts';

/** A line so often says enough, and a start that comes a second late is none that anybody waits for. */
const tryAgainMs = 1_000;

/**
 * As `connectFleetState`, for a process that is started before its Redis, or while that is away or refuses its password:
 * it waits, and says so. Throws what waiting does not mend, such as `UnfitRedis`.
 */
export async function awaitFleetState(
  options: FleetStateOptions,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Promise<FleetState> {
  const beganMs = clock.monotonicMs();
  for (;;) {
    try {
      const state = await connectFleetState(options);
      log.info('Redis is there', { ...(await state.health()).server });
      return state;
    } catch (thrown) {
      if (!(thrown instanceof Failure) || thrown.code !== 'state_unavailable') throw thrown;
      const waitedS = Math.round((clock.monotonicMs() - beganMs) / 1_000);
      log.warn('waiting for Redis', { waited_s: waitedS, reason: String(thrown.evidence['redis']) });
    }
    await clock.sleep(tryAgainMs);
  }
}
