import { rolloutId, runId, tenantId } from '#src/model/ids.ts';
import type { LossCause } from '#src/failure/codes.ts';
import { Chance } from './engine/chance.ts';
import { ownerKey } from './invariants/owner-key.ts';
import { ownerText } from './sandbox/daemon.ts';
import type { Box } from './sandbox/sandboxes.ts';
import { protocolVersion } from '#src/protocol/sandboxd/wire.ts';
import { goAway, resolveReplicaWaits } from './fleet/redis-line.ts';
import { forgetEverything, promoteReplica } from './fleet/replaced-redis.ts';
import type { PlannedRollout } from './trainer/plan.ts';
import type { World } from './world.ts';

type Disaster = (world: World, chance: Chance) => void | Promise<void>;

const lossCauses: readonly LossCause[] = ['evicted', 'preempted', 'node_lost', 'sandboxd_killed'];

/** What strikes a whole process or machine, and how it comes back. */
const disasters = {
  sandbox_killed: (world, chance) =>
    toSomeBox(world, chance, (box) => {
      const cause = chance.pick(lossCauses);
      world.faults.note('sandbox killed', `killed: ${cause}`, { part: box.sandbox });
      world.engine.end(box.sandbox, cause);
    }),
  daemon_stalled: (world, chance) =>
    toSomeBox(world, chance, (box) => {
      // Half of them long enough for a call to run out of time with nobody to ask.
      const stallMs = chance.pick([chance.between(500, 10_000), chance.between(30_000, 60_000)]);
      world.faults.note('sandboxd stands still', `its sandboxd stands still for ${seconds(stallMs)}`, {
        part: box.sandbox,
      });
      box.stalledUntilMs = world.scheduler.nowMs + stallMs;
    }),
  /** Below its own limit: the machine promised more than it had. */
  memory_short: (world, chance) =>
    toSomeBox(world, chance, (box) => {
      const says = 'its machine has no memory left and kills what its commands run';
      if (box.daemon.strike()) world.faults.note('machine short of memory', says, { part: box.sandbox });
    }),
  boot_changed: (world, chance) =>
    toSomeBox(world, chance, (box) => restart(world, box, 'its sandboxd restarts and knows of nothing')),
  gateway_killed: (world, chance) => {
    if (world.gateways.length === 0) return;
    const { process } = chance.pick(world.gateways);
    world.faults.note('gateway killed', 'killed with all that it held', 'anybody', process.name);
    process.kill();
    world.scheduler.after(chance.between(500, 6_000), 'kubelet', 'starts gateway', () =>
      world.startGateway(),
    );
  },
  /** Shorter than a trainer's patience: it asks as if nothing had been. */
  gateway_paused: (world, chance) => {
    if (world.gateways.length === 0) return;
    const { process } = chance.pick(world.gateways);
    const pauseMs = chance.between(500, 8_000);
    world.faults.note('gateway paused', `stands still for ${seconds(pauseMs)}`, 'anybody', process.name);
    process.pause(world.scheduler.nowMs + pauseMs);
  },
  controller_killed: (world, chance) => {
    if (world.controllers.length === 0) return;
    const process = chance.pick(world.controllers);
    world.faults.note('controller killed', 'killed', 'anybody', process.name);
    process.kill();
    world.scheduler.after(chance.between(500, 8_000), 'kubelet', 'starts controller', () =>
      world.startController(),
    );
  },
  /** Longer than a grant or a start may last: it goes on with what it knew before. */
  controller_paused: (world, chance) => {
    if (world.controllers.length === 0) return;
    const process = chance.pick(world.controllers);
    const pauseMs = chance.pick([chance.between(1_000, 6_000), chance.between(20_000, 45_000)]);
    world.faults.note('controller paused', `stands still for ${seconds(pauseMs)}`, 'anybody', process.name);
    process.pause(world.scheduler.nowMs + pauseMs);
  },
  /** What it then tells was true once: sandboxes run that have long ended, and the new ones are not there yet. */
  watch_behind: (world, chance) => {
    const behindMs = chance.between(2_000, 15_000);
    const says = `its watch tells nothing for ${seconds(behindMs)}, and then what was true before`;
    world.faults.note('watch behind', says, 'anybody', 'engine');
    world.engine.fallBehind(world.scheduler.nowMs + behindMs);
  },
  /** Half of them for longer than a rollout may be idle: our silence, not its caller's. */
  redis_away: (world, chance) => {
    const awayMs = chance.pick([chance.between(200, 12_000), chance.between(30_000, 60_000)]);
    world.faults.note('redis away', `answers nobody for ${seconds(awayMs)}`, 'anybody', 'redis');
    goAway(world.redis, awayMs);
  },
  redis_replaced: (world, chance) => {
    world.faults.note('redis replaced', 'replaced by an empty one', 'anybody', 'redis');
    world.queue.empty();
    return forgetEverything(world.redis, chance.between(100, 3_000));
  },
  redis_promoted: async (world, chance) => {
    const oldMs = chance.between(1, oldestCopyMs);
    const ends = await lagBehind(world);
    const awayMs = chance.between(100, 3_000);
    world.scheduler.after(oldMs, 'fate', 'promotes a replica', () => ends({ oldMs, awayMs }));
  },
  /** Somebody acts on a lie, as after a failover: another rollout asks for a sandbox that is not its own. */
  stray_bind: (world, chance) =>
    toSomeBox(world, chance, (box) => {
      const other = chance.pick(world.planned);
      if (world.scheduler.nowMs >= box.stalledUntilMs) strayBind(world, box, other.run, other.name);
    }),
} as const satisfies Record<string, Disaster>;

/** What asynchronous replication may lack. */
const oldestCopyMs = 1_500;

/**
 * A replica hears of nothing more from now on. Returns how that ends: it takes the place of the Redis that it copied,
 * or, with null, has caught up.
 */
async function lagBehind({ redis, scheduler, faults, queue }: World) {
  await redis.scripts.copy();
  queue.copy();
  const missedFromMs = scheduler.nowMs;
  redis.staleReplicas += 1;
  return (takesOver: { readonly oldMs: number; readonly awayMs: number } | null): void | Promise<void> => {
    redis.staleReplicas -= 1;
    // Of a Redis that has been replaced meanwhile it is no replica.
    if (takesOver === null || faults.over || redis.replacedMs.some((atMs) => atMs > missedFromMs)) {
      if (redis.staleReplicas === 0) resolveReplicaWaits(redis, true);
      return undefined;
    }
    const says = `fails over to a copy that is ${takesOver.oldMs} ms old`;
    faults.note('replica promoted', says, 'anybody', 'redis');
    queue.promoteCopy();
    return promoteReplica(redis, takesOver.awayMs, missedFromMs);
  };
}

const seconds = (durationMs: number) => `${(durationMs / 1000).toFixed(1)} s`;

/** What happens to one sandbox is what the product is about. */
const likely = [
  'sandbox_killed',
  'boot_changed',
  'daemon_stalled',
  'memory_short',
  'gateway_killed',
  'redis_promoted',
] as const;

/** Plans what will strike this world, and when. Most of it while calls run. */
export function planDisasters(world: World): void {
  if (world.faults.calm) return;
  const chance = new Chance(`seed ${world.seed}`).fork('disasters');
  strikeBeforeGrades(world, chance.fork('before grades'));
  strikeSetUp(world, chance.fork('set-up'));
  strikeGraders(world, chance.fork('graders'));
  strikeAfterDiscards(world, chance.fork('after discards'));
  cutOff(world, chance.fork('cut off'));
  forgetLeftovers(world, chance.fork('leftovers'));
  refuseStarts(world, chance.fork('no starts'));
  voidRollouts(world, chance.fork('voids'));
  promoteAfterDiscards(world, chance.fork('promotes'));
  const kinds: readonly (keyof typeof disasters)[] = [
    ...(Object.keys(disasters) as (keyof typeof disasters)[]),
    ...likely,
  ];
  for (let index = chance.between(0, 8); index > 0; index -= 1) {
    const kind = chance.pick(kinds);
    const own = chance.fork(`${kind} ${index}`);
    // A third of them in the burst, where most happens at once.
    const atMs = chance.happens(0.35) ? chance.between(4_000, 4_150) : chance.between(3_500, 28_000);
    world.scheduler.after(atMs, 'fate', kind, () => {
      return world.faults.over ? undefined : disasters[kind](world, own);
    });
  }
}

/** How often the last moment strikes in which only the grader's own look can still find out. */
const beforeGradeShare = 0.12;

function strikeBeforeGrades(world: World, chance: Chance): void {
  world.lastThought = ({ run, name }) => {
    if (world.faults.over || !chance.happens(beforeGradeShare)) return;
    const owner = ownerKey(run, name);
    const box = world.sandboxes.all().find(({ daemon }) => ownerText(daemon.identity().owner) === owner);
    if (box !== undefined) restart(world, box, 'its sandboxd restarts just before the grade');
  };
}

/** How often a sandbox is lost after a call of set-up, and before the policy acts. */
const lostInSetUpShare = 0.3;

function strikeSetUp(world: World, chance: Chance): void {
  world.setUp = ({ run, name }) => {
    if (!chance.happens(lostInSetUpShare)) return;
    const isRestart = chance.happens(0.4);
    world.scheduler.after(chance.pick([0, chance.between(1, 400)]), 'fate', 'strikes set-up', () => {
      const owner = ownerKey(run, name);
      const box = world.sandboxes.all().find(({ daemon }) => ownerText(daemon.identity().owner) === owner);
      if (world.faults.over || box === undefined) return;
      if (isRestart) return restart(world, box, 'its sandboxd restarts in the set-up');
      const cause = chance.pick(lossCauses);
      world.faults.note('set-up lost', `ends in the set-up: ${cause}`, { part: box.sandbox });
      world.engine.end(box.sandbox, cause);
    });
  };
}

/** How often a grader's own sandbox ends under it. */
const graderLostShare = 0.5;

/** It hurts nobody: another grades in its place. */
function strikeGraders(world: World, chance: Chance): void {
  world.graderBegins = (sandbox) => {
    if (world.faults.over || !chance.happens(graderLostShare)) return;
    const cause = chance.pick(lossCauses);
    world.scheduler.after(chance.between(0, 300), 'fate', 'ends a grader', () => {
      if (world.faults.over || world.sandboxes.find(sandbox) === undefined) return;
      world.faults.note('grader lost', `ends under a grader: ${cause}`, 'nobody', sandbox);
      world.engine.end(sandbox, cause);
    });
  };
}

/** How often the sandbox of a rollout whose grader gave up ends before the rollout does. */
const lostAfterShare = 0.7;

/** It hurts nobody: there is a verdict. */
function strikeAfterDiscards(world: World, chance: Chance): void {
  world.verdictWritten = ({ key, verdict }) => {
    if (verdict.kind !== 'discard' || verdict.code !== 'grader_failed') return;
    const box = world.sandboxes.all().find(({ daemon }) => ownerText(daemon.identity().owner) === key);
    if (box === undefined || world.faults.over || !chance.happens(lostAfterShare)) return;
    const cause = chance.pick(lossCauses);
    world.scheduler.after(chance.between(100, 5_000), 'fate', 'ends a sandbox after its verdict', () => {
      if (world.faults.over || world.sandboxes.find(box.sandbox) === undefined) return;
      world.faults.note('discarded, then lost', `ends after its verdict: ${cause}`, 'nobody', box.sandbox);
      world.engine.end(box.sandbox, cause);
    });
  };
}

const cutOffShare = 0.5;

/**
 * Nobody gets a connection for longer than any call is tried for, and nothing else is wrong with it. Meanwhile its rollout's calls
 * reach two gateways, so that one gives up while the other may still send.
 */
function cutOff(world: World, chance: Chance): void {
  if (!chance.happens(cutOffShare)) return;
  world.scheduler.after(chance.between(4_100, 9_000), 'fate', 'cuts off', () => {
    if (world.faults.over) return;
    toSomeBox(world, chance, (box) => {
      const durationMs = chance.between(45_000, 90_000);
      const says = `takes no connection for ${seconds(durationMs)}`;
      world.faults.note('sandbox cut off', says, { part: box.sandbox });
      box.cutOffUntilMs = world.scheduler.nowMs + durationMs;
      const again = chance.fork('again');
      world.sentTwice = ({ run, name }) => {
        const isCutOff = world.scheduler.nowMs < box.cutOffUntilMs;
        const isIts = ownerText(box.daemon.identity().owner) === ownerKey(run, name);
        return isCutOff && isIts ? again.between(1_000, 40_000) : null;
      };
    });
  });
}

const refusedShare = 0.15;

/** No sandbox starts for a while: mostly from the beginning, when none is ready. Only the native face hears of it early. */
function refuseStarts(world: World, chance: Chance): void {
  if (!chance.happens(refusedShare) || !world.planned.some(({ face }) => face === 'native')) return;
  const durationMs = chance.between(5_000, 40_000);
  const isForGood = chance.happens(0.5);
  world.scheduler.after(chance.pick([0, 0, chance.between(3_500, 20_000)]), 'fate', 'refuses starts', () => {
    if (world.faults.over) return;
    const says = `makes no sandbox for ${seconds(durationMs)}${isForGood ? ': its folder is missing' : ''}`;
    world.faults.note('starts refused', says, 'anybody', 'engine');
    world.engine.refuse(world.scheduler.nowMs + durationMs, isForGood);
  });
}

const forgetfulShare = 0.4;

/** As 40 minutes later, or where memory is short: what stands beside the lines of rollouts that are over goes. */
function forgetLeftovers({ scheduler, redis, faults }: World, chance: Chance): void {
  if (!chance.happens(forgetfulShare)) return;
  for (let times = chance.between(1, 6); times > 0; times -= 1) {
    scheduler.after(chance.between(4_500, 40_000), 'fate', 'forgets leftovers', async () => {
      if (faults.over || (await redis.scripts.forgetLeftovers()) === 0) return;
      faults.note('leftovers forgotten', 'forgets all but the lines of what is over', 'anybody', 'redis');
    });
  }
}

const promotedShare = 0.25;

/** The replica lacks a discard, and takes over just when that was told. Where none comes in time, it catches up and lags again. */
function promoteAfterDiscards(world: World, chance: Chance): void {
  if (!chance.happens(promotedShare)) return;
  const { redis, scheduler, faults } = world;
  const discards = () =>
    [...redis.scripts.state.rollouts.values()].filter(({ verdict }) => verdict === 'discarded').length;
  const lag = async (): Promise<void> => {
    if (faults.over) return;
    const [before, fromMs, ends] = [discards(), scheduler.nowMs, await lagBehind(world)];
    let isOver = false;
    const end = (isDiscarded: boolean) => {
      if (isOver) return undefined;
      isOver = true;
      redis.afterScript = () => undefined;
      if (isDiscarded) return ends({ oldMs: scheduler.nowMs - fromMs, awayMs: chance.between(100, 3_000) });
      scheduler.after(0, 'fate', 'lags again', lag);
      return ends(null);
    };
    redis.afterScript = () => {
      if (discards() <= before) return;
      redis.afterScript = () => undefined;
      scheduler.after(chance.between(20, 200), 'fate', 'promotes a replica', () => end(true));
    };
    scheduler.after(oldestCopyMs, 'fate', 'catches up', () => end(false));
  };
  scheduler.after(chance.between(3_900, 6_000), 'fate', 'lags', lag);
}

const voidedShare = 0.2;
const voidedScoreShare = 0.15;

/** An operator takes rollouts out of their run: at any time, and after their score. */
function voidRollouts(world: World, chance: Chance): void {
  const voids = ({ run, name }: PlannedRollout): void => {
    world.scheduler.after(chance.between(0, 5_000), 'operator', `voids ${name}`, () => {
      const [gateway] = world.gateways;
      if (world.faults.over || gateway === undefined) return;
      world.faults.note('voided', 'is voided by an operator', { part: name });
      const operator = {
        face: 'native',
        tenant: tenantId('lab'),
        run: runId(run),
        keyId: 'operator',
      } as const;
      const rollout = { rollout: rolloutId(name), attempt: null };
      // An operator whose request fails sees that, and asks again another day.
      void gateway.core.void(operator, rollout, 'its task is broken').catch(() => undefined);
    });
  };

  const next = world.verdictWritten;
  world.verdictWritten = (event) => {
    next(event);
    const scored = world.planned.find(({ run, name }) => ownerKey(run, name) === event.key);
    if (event.score !== null && scored !== undefined && chance.happens(voidedScoreShare)) voids(scored);
  };
  if (!chance.happens(voidedShare)) return;
  const some = chance.pick(world.planned);
  world.scheduler.after(chance.between(4_100, 30_000), 'operator', 'finds a broken task', () => voids(some));
}

function toSomeBox(world: World, chance: Chance, strike: (box: Box) => void): void {
  const boxes = world.sandboxes.all();
  const bound = boxes.filter((box) => box.daemon.identity().owner !== null);
  const from = bound.length > 0 && chance.happens(0.8) ? bound : boxes;
  if (from.length > 0) strike(chance.pick(from));
}

function restart(world: World, box: Box, says: string): void {
  world.faults.note('sandboxd restarted', says, { part: box.sandbox });
  world.sandboxes.reboot(box);
}

/** A refused bind hurts nobody; an unbound sandbox may be taken by it, and then it is simply lost for others. */
function strayBind(world: World, box: Box, run: string, rollout: string): void {
  const owner = { tenant: 'lab', run, rollout, attempt: 1, role: 'policy' } as const;
  world.faults.note('stray bind', `asked by ${rollout}, by mistake`, { part: box.sandbox });
  try {
    box.daemon.bind({ protocol: protocolVersion, owner, expiresInMs: 240_000 });
  } catch (thrown) {
    world.story.tell(box.sandbox, `answers ${String(thrown)}`);
  }
}
