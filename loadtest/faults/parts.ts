import type { Part } from '../fleet/soak-fleet.ts';
import type { Fault } from './fault.ts';

export const killGateway = partKiller('gateway');
export const killOtherGateway = partKiller('other gateway');
export const killController = partKiller('controller');
export const killRedis = partKiller('redis');

/** Row 20 of the load model, a machine lost: on one machine all sandboxes are on it. */
export const killNode: Fault = {
  name: 'node killed',
  strike: async (world) => {
    const sandboxes = await world.fleet.sandboxes();
    const [killed] = await partKiller('node').strike(world);
    if (killed === undefined) return [];
    const lost = sandboxes.map(({ sandbox, owner }) => ({
      name: 'sandbox lost with its node',
      fromMs: killed.fromMs,
      untilMs: killed.fromMs,
      hit: { sandbox, rollout: owner?.rollout ?? null },
    }));
    return [killed, ...lost];
  },
};

/** SIGKILL; the fleet starts the part again. */
function partKiller(part: Part): Fault {
  const name = `${part} killed`;
  return {
    name,
    strike: async (world) => {
      const pid = await world.fleet.pidOf(part);
      if (pid === null) return [];
      const back = world.backAtMs(part);
      const fromMs = world.nowMs();
      world.kill(pid, 'SIGKILL');
      return [{ name, fromMs, untilMs: await back, hit: { part } }];
    },
  };
}
