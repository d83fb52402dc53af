import { idleMs } from '../environment.ts';
import { worldBeganMs } from '../engine/process.ts';
import type { Outage } from '../fleet/redis-line.ts';
import type { Request } from '../trainer/ledger.ts';
import type { World } from '../world.ts';
import type { Invariant } from './inspector.ts';
import { ownerKey } from './owner-key.ts';

/** A replica that takes over has missed as much, and a lease with it. */
const missedMs = 2_000;
/** What is shorter than this is no outage to fleet state, and is not given back. */
const outageMs = 6_000;

/** Our silence is not the caller's. */
export const heardOut: Readonly<Record<string, Invariant>> = {
  'nobody is ended for a silence in which he could not be heard': (world) => {
    for (const { run, name } of world.planned) {
      const found = world.redis.scripts.state.rollouts.get(ownerKey(run, name));
      if (found?.closedBy !== 'idle') continue;
      const endedMs = found.closedAtMs - worldBeganMs;
      const heardMs = Math.max(
        0,
        ...world.ledger
          .of(name)
          .filter((request) => renews(request) && !isForgotten(world, request))
          .map(({ sentMs }) => sentMs),
      );
      const silentMs = endedMs - heardMs - deafMs(world.redis.outages, heardMs, endedMs);
      if (silentMs < idleMs - missedMs) return `${name} was ended as idle after ${silentMs} ms of silence`;
    }
    return null;
  },
};

/** What has surely renewed the lease, at its sending or after it. */
function renews({ asking, told }: Request): boolean {
  return (asking === 'call' && told?.kind === 'answer' && !told.replayed) || isView(asking, told);
}

/** A replica that was promoted since may lack it, and has an older lease. */
const isForgotten = ({ redis }: World, { sentMs, toldMs }: Request): boolean =>
  redis.replacedMs.some((atMs, index) => sentMs < atMs && toldMs > (redis.missedFromMs[index] ?? Infinity));

const isView = (asking: Request['asking'], told: Request['told']) =>
  (asking === 'open' || asking === 'heartbeat') && told?.kind === 'view';

/** Time between the two in which Redis answered nobody; outages may lie over each other. */
function deafMs(outages: readonly Outage[], fromMs: number, untilMs: number): number {
  let deaf = 0;
  let countedMs = fromMs;
  for (const outage of outages.toSorted((one, other) => one.fromMs - other.fromMs)) {
    if (outage.untilMs - outage.fromMs < outageMs) continue;
    const beginsMs = Math.max(countedMs, outage.fromMs);
    const endsMs = Math.min(untilMs, outage.untilMs);
    deaf += Math.max(0, endsMs - beginsMs);
    countedMs = Math.max(countedMs, endsMs);
  }
  return deaf;
}
