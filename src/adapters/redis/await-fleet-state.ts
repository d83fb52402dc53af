import { asFailure } from '#src/failure/failure.ts';
import type { Log } from '#src/ports/log.ts';
import { type RetryDeps, retrying } from '#src/waiting/retries.ts';
import { retryPolicies } from '#src/waiting/retry-policies.ts';
import { connectFleetState, type FleetState, type FleetStateOptions } from './fleet-state.ts';

/**
 * As `connectFleetState`, for a process that is started before its Redis, or while that is away or refuses its password:
 * it waits, and says so. Throws what waiting does not mend, such as `UnfitRedis`.
 */
export async function awaitFleetState(
  options: FleetStateOptions,
  deps: RetryDeps & { readonly log: Log },
): Promise<FleetState> {
  const { clock, log } = deps;
  const beganMs = clock.monotonicMs();
  const onAgain = (thrown: unknown) => {
    const waitedS = Math.round((clock.monotonicMs() - beganMs) / 1_000);
    const { redis } = asFailure(thrown).evidence;
    log.warn('waiting for Redis', { waited_s: waitedS, reason: String(redis) });
  };
  const connect = () => connectFleetState(options);
  const state = await retrying(deps, retryPolicies.fleetState, connect, { onAgain });
  log.info('Redis is there', { ...(await state.health()).server });
  return state;
}
