import { lastKept } from '../sandbox/daemon.ts';
import type { Execution } from '../sandbox/truth.ts';
import type { Request } from '../trainer/ledger.ts';
import type { World } from '../world.ts';
import type { Invariant } from './inspector.ts';
import { ownerKey } from './owner-key.ts';

/** An answer is in its sandbox alone. So a repeat gets it as long as that sandbox is there, whatever Redis has forgotten. */
export const answersKept: Readonly<Record<string, Invariant>> = {
  'no answer is gone that its sandbox has, or that its policy has removed with it': (world) => {
    for (const request of world.ledger.requests) {
      const isGone = request.told?.kind === 'failure' && request.told.code === 'answer_expired';
      const wrong = isGone ? goneWrongly(world, request) : null;
      if (wrong !== null) return `${request.rollout.name} ${request.call} got answer_expired: ${wrong}`;
    }
    return null;
  },

  'an output is gone only with a sandbox that its policy broke': (world) => {
    for (const { told, rollout, call } of world.ledger.requests) {
      if (told?.kind !== 'answer' || !isOutputGone(told.output)) continue;
      const owner = ownerKey(rollout.run, rollout.name);
      if (!world.truth.brokenBy(owner) && world.stage?.isolation !== 'single-user')
        return `${rollout.name} ${call}: ${told.output}`;
    }
    return null;
  },

  'a repeat gets the recorded outcome': ({ ledger }) => {
    const first = new Map<string, string>();
    for (const { told, conflicting, rollout, call } of ledger.requests) {
      if (told?.kind !== 'answer' || conflicting) continue;
      const name = `${rollout.name} ${call}`;
      const before = first.get(name) ?? told.ended;
      if (before !== told.ended) return `${name}: first ${before}, then ${told.ended}`;
      first.set(name, told.ended);
    }
    return null;
  },

  'a sandbox keeps its latest answers, and all that are not settled': (world) => {
    for (const { sandbox, daemon } of world.sandboxes.all()) {
      const ended = daemon.alive ? endedIn(world, sandbox, daemon.boot) : [];
      const latest = new Set(ended.slice(-lastKept));
      const evicted = ended.filter(({ call }) => daemon.hasEvicted(call));
      const wrong = evicted.find((one) => latest.has(one) || isRunning(world, one));
      if (wrong !== undefined) return `${sandbox} has evicted ${wrong.call}`;
    }
    return null;
  },
};

export const isOutputGone = (output: string): boolean => output.startsWith('[this command has ended');

/** Whether it had to make way in its sandbox for answers of later calls. */
export function mayBeEvicted(world: World, { rollout, call }: Request): boolean {
  const owner = ownerKey(rollout.run, rollout.name);
  const ran = world.truth.executionsOf(owner).findLast((one) => one.call === call);
  if (ran === undefined) return false;
  return !endedIn(world, ran.sandbox, ran.boot).slice(-lastKept).includes(ran);
}

function goneWrongly(world: World, request: Request): string | null {
  const { truth, redis } = world;
  const owner = ownerKey(request.rollout.run, request.rollout.name);
  const row = redis.scripts.state.rollouts.get(owner);
  if (row === undefined || row.state === 'closed' || row.state === 'expired') return null;
  const ran = truth.executionsOf(owner).findLast(({ call }) => call === request.call);
  if (ran === undefined) return 'it ran nowhere';
  const life = truth.lifeOf(ran.sandbox, ran.boot);
  if (life === undefined || (life.endedMs !== null && life.endedMs < request.toldMs))
    return truth.brokenBy(owner) && redis.replacedMs.length === 0 ? 'its policy broke its sandbox' : null;
  return mayBeEvicted(world, request) ? null : `${ran.sandbox} has it`;
}

/** What callers' calls did in a life, in the order in which they ended. */
function endedIn({ truth }: World, sandbox: string, boot: string): readonly Execution[] {
  return truth.executions
    .filter(
      (one) => one.sandbox === sandbox && one.boot === boot && one.ending !== null && !one.call.includes(' '),
    )
    .toSorted((one, other) => (one.endedMs ?? 0) - (other.endedMs ?? 0));
}

/** For fleet state, which has not forgotten anything. */
function isRunning({ redis }: World, { owner, call }: Execution): boolean {
  return (
    redis.replacedMs.length === 0 && (redis.scripts.state.rollouts.get(owner)?.running.has(call) ?? false)
  );
}
