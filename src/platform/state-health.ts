import type { Clock } from '../ports/clock.ts';
import type { FleetMemory, StateHealth } from '../ports/fleet/server.ts';

/** Below the usual patience of a probe, so that it hears the reason and not a timeout. */
export const probePatienceMs = 800;

/** What /readyz of every process says of fleet state. A process that cannot reach it is told of, not taken out of service. */
export async function describeHealth(ask: () => Promise<StateHealth>, clock: Clock) {
  const answered = new AbortController();
  const late = clock
    .sleep(probePatienceMs, answered.signal)
    .then((): StateHealth => away(`no answer in ${probePatienceMs} ms`));
  const asked = ask().catch((thrown: unknown): StateHealth => away(String(thrown)));
  const { state, reason, server } = await Promise.race([asked, late]);
  answered.abort();
  return { state, reason, redis: server === null ? null : describeServer(server) };
}

const away = (reason: string): StateHealth => ({ state: 'away', reason, server: null });

export function describeServer(server: NonNullable<StateHealth['server']>) {
  return {
    version: server.version,
    maxmemory_policy: server.evictionPolicy,
    maxmemory_bytes: server.memoryLimitBytes,
    append_only: server.appendOnly,
  };
}

/** What a scrape shows of fleet state; null stands for what nobody says in time. */
export async function lookAtState(
  state: { health(): Promise<StateHealth>; readonly memory: Pick<FleetMemory, 'usage'> },
  clock: Clock,
): Promise<{ readonly health: StateHealth; readonly usedBytes: number | null }> {
  const [health, usage] = await Promise.all([state.health(), soonOrNull(state.memory.usage(), clock)]);
  return { health, usedBytes: usage?.usedBytes ?? null };
}

/** Null where it fails or takes longer than whoever scrapes has patience for. */
export async function soonOrNull<Asked>(asked: Promise<Asked>, clock: Clock): Promise<Asked | null> {
  const answered = new AbortController();
  const late = clock.sleep(probePatienceMs, answered.signal).then(() => null);
  const answer = await Promise.race([asked.catch(() => null), late]);
  answered.abort();
  return answer;
}
