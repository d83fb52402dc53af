import type { StateHealth, StateServer } from '../../ports/fleet/server.ts';
import type { Instruments } from './instruments.ts';

/** What a process sees of the Redis that holds fleet state. */
export function stateMetrics({ set, show }: Instruments): (health: StateHealth) => void {
  return ({ state, server }) => {
    set('corral_redis_up', {}, state === 'away' ? 0 : 1);
    set('corral_recovering', {}, state === 'recovering' ? 1 : 0);
    // What is not known is no reason to wake anybody.
    set('corral_redis_policy_ok', {}, mayForget(server) ? 0 : 1);
    if (server === null) return;
    const { version, evictionPolicy, appendOnly, memoryLimitBytes } = server;
    const labels = { version, maxmemory_policy: evictionPolicy, append_only: appendOnly ? 'yes' : 'no' };
    show('corral_redis_info', [{ labels, value: 1 }]);
    set('corral_redis_memory_bytes', { kind: 'limit' }, memoryLimitBytes ?? 0);
  };
}

/** A Redis that does not say is taken at its start's word. */
const mayForget = (server: StateServer | null): boolean =>
  !['', 'noeviction'].includes(server?.evictionPolicy ?? '');
