import type { StateHealth } from '../../ports/fleet/server.ts';
import type { Instruments } from './instruments.ts';

/** What a process sees of the Redis that holds fleet state. */
export function stateMetrics({ gauge }: Instruments): (health: StateHealth) => void {
  const up = gauge(
    'corral_redis_up',
    '1 while this process reaches Redis, whether or not it holds the fleet',
  );
  const recovering = gauge(
    'corral_recovering',
    '1 while Redis was restarted or replaced and the fleet is not written back yet',
  );
  const limit = gauge('corral_redis_memory_limit_bytes', 'Its maxmemory; 0: it has none');
  const info = gauge('corral_redis_info', '1, with what Redis is, as it was when last reached', [
    'version',
    'maxmemory_policy',
    'append_only',
  ]);
  return ({ state, server }) => {
    up.set(state === 'away' ? 0 : 1);
    recovering.set(state === 'recovering' ? 1 : 0);
    info.reset();
    if (server === null) return;
    limit.set(server.memoryLimitBytes ?? 0);
    const { version, evictionPolicy, appendOnly } = server;
    info.set({ version, maxmemory_policy: evictionPolicy, append_only: appendOnly ? 'yes' : 'no' }, 1);
  };
}
