import type { FleetSnapshot, RolloutRow } from '../fleet/fleet-snapshot.ts';
import type { World } from '../world.ts';
import type { Invariant } from './inspector.ts';

/**
 * What fleet state may never take back, from one step to the next. Where Redis was replaced, from what its successor
 * held: of an emptied one that is nothing, and what is written back then is a new beginning.
 */
export function stateOnlyMovesOn(): Readonly<Record<string, Invariant>> {
  let before: FleetSnapshot | null = null;
  const owners = new Map<string, string>();
  let replaced = 0;
  return {
    'a verdict, an end and an owner stay': ({ redis }: World) => {
      const now = redis.scripts.state;
      if (redis.replacedMs.length > replaced) {
        replaced = redis.replacedMs.length;
        before = redis.kept;
        owners.clear();
      }
      const taken = before === null ? null : takenBack(before, now);
      before = now;
      return taken ?? reowned(owners, now);
    },
  };
}

function takenBack(before: FleetSnapshot, now: FleetSnapshot): string | null {
  for (const [key, was] of before.rollouts) {
    const is = now.rollouts.get(key);
    if (is === undefined) return `${key} is forgotten`;
    if (was.verdict !== '' && !mayBecome(was, is)) return `${key} was ${wordsOf(was)}, now ${wordsOf(is)}`;
    if (is.score !== '' && is.discard !== '')
      return `${key} is discarded by ${is.discard} and scored ${is.score}`;
    const ended = was.state === 'closed' || was.state === 'expired';
    if (ended && is.state !== was.state) return `${key} was ${was.state}, now ${is.state}`;
    // What is over forgets where it was before it forgets how it ended.
    if (was.dispatched && is.sandbox !== was.sandbox && !is.healing && !(ended && is.sandbox === ''))
      return `${key} left ${was.sandbox} for "${is.sandbox}" after a dispatch`;
  }
  return null;
}

/** A broken rollout is scored, or discarded: by an operator, or for what its platform or its judge did. */
function mayBecome(was: RolloutRow, is: RolloutRow): boolean {
  if (was.verdict !== 'broken') return wordsOf(was) === wordsOf(is);
  if (is.verdict !== 'discarded') return is.broken;
  if (otherThanPolicys.has(is.discard)) return true;
  return is.discard === 'grader_failed' && is.suspected !== '';
}

const otherThanPolicys: ReadonlySet<string> = new Set(['rollout_unknown', 'voided', 'judge_suspect']);

const wordsOf = ({ verdict, discard, score }: RolloutRow): string => `${verdict} ${discard}${score}`;

function reowned(owners: Map<string, string>, now: FleetSnapshot): string | null {
  for (const { sandbox, owner } of now.sandboxes.values()) {
    const before = owners.get(sandbox) ?? '';
    if (before !== '' && owner !== before) return `${sandbox} was ${before}'s, now "${owner}"'s`;
    if (owner !== '') owners.set(sandbox, owner);
  }
  return null;
}
