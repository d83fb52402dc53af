import type { StateHealth, StateServer } from '#src/ports/fleet/server.ts';
import type { Instruments } from './instruments.ts';

export type StateMetrics = {
  /** How long a script of fleet state took. */
  readonly script: (tookMs: number) => void;
  /** Shows what is seen of it now; `usedBytes` null: it does not say. */
  readonly seen: (now: { readonly health: StateHealth; readonly usedBytes: number | null }) => void;
};

/** What a process sees of the Redis that holds fleet state. */
export function stateMetrics({ set, show, observe }: Instruments): StateMetrics {
  const seen: StateMetrics['seen'] = ({ health: { state, server }, usedBytes }) => {
    if (usedBytes !== null) set('corral_redis_memory_bytes', { kind: 'used' }, usedBytes);
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
  return { seen, script: (tookMs) => observe('corral_redis_command_seconds', {}, tookMs) };
}

/** A Redis that does not say is taken at its start's word. */
const mayForget = (server: StateServer | null): boolean =>
  !['', 'noeviction'].includes(server?.evictionPolicy ?? '');
