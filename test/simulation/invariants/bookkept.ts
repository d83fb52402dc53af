import type { World } from '../world.ts';
import { worldBeganMs } from '../engine/process.ts';
import { ownerKey } from './owner-key.ts';
import { isTaint } from './not-scored.ts';
import type { Invariant } from './inspector.ts';

/** A grant that nobody uses is taken back after 30 s; controllers here look every four seconds. */
const grantEndsMs = 30_000 + 5_000;

/** Setup may take its 5 s, and each of its requests may be slow; in a sandbox that was spared nothing takes longer. */
const movesInWithinMs = 25_000;

/** A controller here looks for starts without a job every eight seconds at most, from two seconds on; their slots end after 21. */
const joblessMs = 17_000;

/** A start that has lost its job would hold its slot, and its rollout would wait, until its time is over. */
export function startsHaveJobs(): Readonly<Record<string, Invariant>> {
  const sinceMs = new Map<string, number>();
  let watched = '';
  return {
    'a start that lost its job gets another': (world) => {
      const { queue, redis, scheduler, controllers } = world;
      // One that has just begun has its first look before it.
      const names = controllers.map(({ name }) => name).join(' ');
      const isServed = names !== '' && names === watched && servedSinceMs(world) <= scheduler.nowMs;
      watched = names;
      for (const { sandbox, phase } of redis.scripts.state.sandboxes.values()) {
        const isJobless = isServed && phase === 'starting' && !queue.isLive(sandbox);
        if (!isJobless) sinceMs.delete(sandbox);
        else if (!sinceMs.has(sandbox)) sinceMs.set(sandbox, scheduler.nowMs);
        const forMs = scheduler.nowMs - (sinceMs.get(sandbox) ?? scheduler.nowMs);
        if (forMs > joblessMs) return `${sandbox} has been starting without a job for ${forMs} ms`;
      }
      return null;
    },
  };
}

/** What fleet state's own books must say of themselves; counters and taints do not outlive a Redis. */
export const bookkept: Readonly<Record<string, Invariant>> = {
  'a call settles once': ({ redis }) => {
    const { counted, calls } = redis.scripts.state.settled;
    return counted === calls || redis.replacedMs.length > 0
      ? null
      : `${calls} calls have settled, ${counted} outcomes were counted`;
  },

  'a call that another try may send is not withdrawn': ({ withdrawnTooEarly, redis }) =>
    redis.replacedMs.length > 0 ? null : (withdrawnTooEarly[0] ?? null),

  'what is over has nothing in flight': ({ redis }) => {
    const busy = [...redis.scripts.state.rollouts.values()].find(
      ({ state, inFlight }) => (state === 'closed' || state === 'expired') && inFlight > 0,
    );
    return busy === undefined
      ? null
      : `${busy.key} is ${busy.state} and has ${busy.inFlight} calls in flight`;
  },

  'a taint that was told is written': ({ ledger, redis }) => {
    const { rollouts } = redis.scripts.state;
    const unwritten = ledger.requests.find(
      (request) =>
        isTaint(request) && rollouts.get(ownerKey(request.rollout.run, request.rollout.name))?.discard === '',
    );
    return unwritten === undefined || redis.replacedMs.length > 0
      ? null
      : `${unwritten.rollout.name} was told ${JSON.stringify(unwritten.told)}`;
  },

  'only a ready sandbox is granted': ({ redis }) => {
    const { rollouts, sandboxes } = redis.scripts.state;
    for (const { key, state, sandbox, discard } of rollouts.values()) {
      const phase = sandboxes.get(sandbox)?.phase ?? 'unknown';
      // One that is lost for what it had run elsewhere gives up what it was granted since.
      if (state === 'claimed' && discard === '' && phase !== 'ready')
        return `${key} has claimed ${sandbox}, which is ${phase}`;
    }
    return null;
  },

  'a template with sandboxes counts in its pool': ({ redis }) => {
    const [uncounted] = redis.scripts.state.uncounted;
    return uncounted === undefined ? null : `${uncounted} has sandboxes and is not listed as stocked`;
  },

  'who asks for a rollout moves into what it was given': (world) => {
    const { nowMs } = world.scheduler;
    if (servedSinceMs(world) > nowMs - movesInWithinMs) return null;
    for (const { rollout, told, sentMs } of world.ledger.requests) {
      if (told !== null || nowMs - sentMs < movesInWithinMs) continue;
      const given = world.redis.scripts.state.rollouts.get(ownerKey(rollout.run, rollout.name));
      if (given?.state !== 'claimed' || !world.faults.spared(given.sandbox)) continue;
      const heldMs = worldBeganMs + nowMs - given.claimedAtMs;
      if (heldMs > movesInWithinMs) return `${given.key} was given ${given.sandbox} ${heldMs} ms ago`;
    }
    return null;
  },

  'a grant that nobody uses is taken back': (world) => {
    const { redis, scheduler, faults } = world;
    const { oldestGrantMs } = redis.scripts.state;
    if (oldestGrantMs === null || !faults.over) return null;
    const ageMs = scheduler.nowMs - Math.max(oldestGrantMs - worldBeganMs, servedSinceMs(world));
    return ageMs > grantEndsMs ? `a grant has been there unused for ${ageMs} ms` : null;
  },
};

/** A Redis that is away answers nobody, and one that has forgotten waits for a controller, which may stand still. */
function servedSinceMs({ redis, controllers }: World): number {
  return Math.max(redis.downUntilMs, ...controllers.map(({ pausedUntilMs }) => pausedUntilMs));
}
