import type { World } from '../world.ts';
import { isSetup } from '../trainer/plan.ts';
import { withinMemory } from './within-memory.ts';
import type { Invariant } from './inspector.ts';

/** Invariants 1 and 2: whose a sandbox is. */
export const boundOnce: Readonly<Record<string, Invariant>> = {
  'one sandbox serves at most one rollout, ever': ({ truth }) => {
    const owners = new Map<string, string>();
    for (const { sandbox, owner, call } of truth.executions) {
      const before = owners.get(sandbox) ?? owner;
      if (before !== owner) return `${sandbox} ran calls of ${before} and then ${call} of ${owner}`;
      owners.set(sandbox, owner);
    }
    return null;
  },

  'first bind wins at the sandbox': ({ truth }) => {
    const twice = truth.lives.find((life) => life.owners.size > 1);
    return twice === undefined ? null : `${twice.sandbox} accepted ${[...twice.owners].join(' and ')}`;
  },

  'one rollout has run calls in one life of one sandbox only': ({ truth, redis }) => {
    const lives = new Map<string, string>();
    for (const { owner, sandbox, boot, call } of withinMemory(truth, redis)) {
      // The product's own calls (setup, grader) change nothing that a rollout could lose, and its trainer's set-up is replayed.
      if (call.includes(' ') || isSetup(call)) continue;
      const life = `${sandbox} ${boot}`;
      const before = lives.get(owner) ?? life;
      if (before !== life) return `${owner} ran ${call} in ${life} after calls in ${before}`;
      lives.set(owner, life);
    }
    return null;
  },

  'fleet state gives a sandbox to one rollout at a time': (world) => heldTwice(world),
};

function heldTwice(world: World): string | null {
  const holders = new Map<string, string>();
  for (const { key, state, sandbox } of world.redis.scripts.state.rollouts.values()) {
    if (sandbox === '' || state === 'closed' || state === 'expired') continue;
    const before = holders.get(sandbox);
    if (before !== undefined) return `${sandbox} is held by ${before} and by ${key}`;
    holders.set(sandbox, key);
  }
  return null;
}
