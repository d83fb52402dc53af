import { asFailure } from '#src/failure/failure.ts';
import { failureToHttp } from '#src/failure/http.ts';
import type { Face } from '#src/model/face.ts';
import type { GatewayCore } from '#services/gateway/core-interface.ts';
import type { Chance } from '../engine/chance.ts';
import type { Faults } from '../engine/faults.ts';
import type { Scheduler } from '../engine/scheduler.ts';
import type { Gateway } from '../processes/gateways.ts';
import type { Told } from './ledger.ts';

/** How a request came back: what a face would answer, but for the words. */
type Ask = (core: GatewayCore) => Promise<Told>;

export type PlatformWorld = {
  readonly scheduler: Scheduler;
  readonly faults: Faults;
  readonly chance: Chance;
  /** Gateways that a load balancer would choose from now. */
  readonly gateways: () => readonly Gateway[];
};

/**
 * Sends one request to some gateway; what comes back is what HTTP would carry. `alsoAfterMs`: a proxy in between sends it to another
 * gateway, too, and drops that answer.
 */
export function post(
  world: PlatformWorld,
  face: Face,
  what: string,
  ask: Ask,
  alsoAfterMs: number | null = null,
): Promise<Told> {
  const { scheduler, faults, chance } = world;
  const alive = world.gateways();
  const gateway = alive.length === 0 ? null : chance.pick(alive);
  if (alsoAfterMs !== null && gateway !== null) sendAlso(world, face, what, ask, gateway, alsoAfterMs);
  return new Promise((resolve) => {
    const lost = () => resolve({ kind: 'lost' });
    if (gateway === null) return void scheduler.after(100, 'platform', `${what} finds nobody`, lost);
    gateway.process.onDeath(lost);
    scheduler.after(chance.between(1, 20), 'platform', `posts ${what} to ${gateway.process.name}`, () => {
      if (!gateway.process.alive || faults.strikes('http_cut_before', 'anybody', what)) return lost();
      void answered(gateway, face, ask).then((told) => {
        if (!gateway.process.alive || faults.strikes('http_cut_after', 'anybody', what)) return lost();
        scheduler.after(chance.between(1, 20), 'platform', `reads ${what}`, () => resolve(told));
      });
    });
  });
}

function sendAlso(
  { scheduler, gateways, faults }: PlatformWorld,
  face: Face,
  what: string,
  ask: Ask,
  first: Gateway,
  afterMs: number,
): void {
  scheduler.after(afterMs, 'platform', `posts ${what} once more`, () => {
    const other = gateways().find((one) => one !== first);
    if (other === undefined || faults.over) return;
    faults.note('sent to two gateways', `${what} is sent to it, too`, 'nobody', other.process.name);
    void answered(other, face, ask);
  });
}

async function answered(gateway: Gateway, face: Face, ask: Ask): Promise<Told> {
  try {
    return await ask(gateway.core);
  } catch (thrown) {
    const failure = asFailure(thrown);
    const { status } = failureToHttp(face, failure);
    return { kind: 'failure', status, code: failure.code, message: failure.message };
  }
}
