import type { Request } from '../trainer/ledger.ts';
import type { World } from '../world.ts';
import type { Invariant } from './inspector.ts';

/** Finish and delete win over everything that still runs, and nothing comes after them. */
export const ended: Readonly<Record<string, Invariant>> = {
  'who ends a rollout is told that it is over': ({ ledger }) => {
    const open = ledger.requests.find(({ asking, told }) => asking === 'close' && isOpen(told));
    return open === undefined ? null : `${open.rollout.name} ${open.call}: ${JSON.stringify(open.told)}`;
  },

  'nothing follows an end': (world) => {
    for (const end of world.ledger.requests) {
      if (end.asking !== 'close' || end.told?.kind !== 'view' || isForgotten(world, end)) continue;
      const after = world.ledger.of(end.rollout.name).find((other) => isNew(other, end));
      if (after !== undefined)
        return `${end.rollout.name} was ended, then ${after.call}: ${JSON.stringify(after.told)}`;
    }
    return null;
  },
};

function isOpen(told: Request['told']): boolean {
  return told?.kind === 'view' && told.state !== 'closed' && told.state !== 'expired';
}

/** Work asked for after the end was told, and done. A grade's stored score and a recorded answer may be had again. */
function isNew({ sentMs, told, asking }: Request, end: Request): boolean {
  return asking === 'call' && sentMs >= end.toldMs && told?.kind === 'answer' && !told.replayed;
}

function isForgotten({ redis }: World, { sentMs }: Request): boolean {
  return redis.replacedMs.some((atMs) => atMs > sentMs);
}
