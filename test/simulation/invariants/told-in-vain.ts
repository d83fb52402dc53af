import type { World } from '../world.ts';
import type { Request } from '../trainer/ledger.ts';
import type { Invariant } from './inspector.ts';

/** As many in a row make it certain that the next start fails, too. */
const certainAfter = 3;

/** A request ends early only where no sandbox could have come; what may pass is waited out. */
export const toldInVain: Readonly<Record<string, Invariant>> = {
  'a rollout waits in vain only after three starts were refused for good, one of them since it came': (
    world,
  ) => {
    for (const request of world.ledger.requests) {
      const wrong = isToldInVain(request) ? toldTooEarly(world, request) : null;
      if (wrong !== null) return `${request.rollout.name} ${request.call}: ${wrong}`;
    }
    return null;
  },
};

const isToldInVain = ({ told }: Request) =>
  told?.kind === 'failure' && told.message.includes('in a row failed to start');

function toldTooEarly({ engine, ledger }: World, { rollout, toldMs }: Request): string | null {
  if (rollout.face === 'rft') return 'its platform does not wait for it to pass';
  const refusedMs = engine.refusedForGoodMs.filter((atMs) => atMs <= toldMs);
  if (refusedMs.length < certainAfter) return `${refusedMs.length} starts were refused for good`;
  const cameMs = Math.min(...ledger.of(rollout.name).map(({ sentMs }) => sentMs));
  return refusedMs.some((atMs) => atMs >= cameMs) ? null : 'no start was refused since it came';
}
