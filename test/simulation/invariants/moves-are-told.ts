import type { FleetSnapshot, SandboxRow } from '../fleet/fleet-snapshot.ts';
import type { World } from '../world.ts';
import type { Invariant } from './inspector.ts';

/**
 * Controllers read each second what has moved, and not every sandbox: a move that is not told is one they hear of a
 * minute later. Where Redis was replaced all is read again.
 */
export function movesAreTold(): Readonly<Record<string, Invariant>> {
  let before: FleetSnapshot | null = null;
  let replaced = 0;
  return {
    'a sandbox that has moved is told of': ({ redis }: World) => {
      const now = redis.scripts.state;
      if (redis.replacedMs.length > replaced) before = redis.kept;
      replaced = redis.replacedMs.length;
      const untold = before === null || before === now ? null : untoldIn(before, now);
      before = now;
      return untold;
    },
  };
}

function untoldIn(before: FleetSnapshot, now: FleetSnapshot): string | null {
  const moved = new Set([...before.sandboxes.keys(), ...now.sandboxes.keys()]);
  for (const sandbox of moved) {
    const [was, is] = [before.sandboxes.get(sandbox), now.sandboxes.get(sandbox)];
    const isTold = (is === undefined ? now.moves : is.move) > before.moves;
    if (placeOf(was) !== placeOf(is) && !isTold) return `${sandbox} was ${placeOf(was)}, is ${placeOf(is)}`;
  }
  return null;
}

const placeOf = (row: SandboxRow | undefined) =>
  row === undefined ? 'not there' : `${row.phase} of ${row.owner || 'nobody'}`;
