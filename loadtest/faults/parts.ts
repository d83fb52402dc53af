import type { Part } from '../fleet/soak-fleet.ts';
import type { Fault } from './fault.ts';

export const killGateway = partKiller('gateway');
export const killOtherGateway = partKiller('other gateway');
export const killController = partKiller('controller');
export const killRedis = partKiller('redis');

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
