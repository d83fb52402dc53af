import type { LossCause } from '../../src/failure/codes.ts';
import { Chance } from './engine/chance.ts';
import { ownerKey } from './invariants/owner-key.ts';
import { ownerText } from './sandbox/daemon.ts';
import type { Box } from './sandbox/sandboxes.ts';
import type { World } from './world.ts';

type Disaster = (world: World, chance: Chance) => void | Promise<void>;

const lossCauses: readonly LossCause[] = ['evicted', 'preempted', 'node_lost', 'sandboxd_killed'];

/** What strikes a whole process or machine, and how it comes back. */
const disasters = {
  sandbox_killed: (world, chance) => {
    const box = someBox(world, chance);
    if (box === null) return;
    strike(world, 'sandbox killed', box);
    world.engine.end(box.sandbox, chance.pick(lossCauses));
  },
  daemon_stalled: (world, chance) => {
    const box = someBox(world, chance);
    if (box === null) return;
    strike(world, 'sandboxd stands still', box);
    // Half of them long enough for a call to run out of time with nobody to ask.
    box.stalledUntilMs =
      world.scheduler.nowMs + chance.pick([chance.between(500, 10_000), chance.between(30_000, 60_000)]);
  },
  boot_changed: (world, chance) => {
    const box = someBox(world, chance);
    if (box === null) return;
    strike(world, 'sandboxd restarted', box);
    world.sandboxes.reboot(box);
  },
  gateway_killed: (world, chance) => {
    if (world.gateways.length === 0) return;
    const { process } = chance.pick(world.gateways);
    tell(world, process.name, 'KILLED');
    process.kill();
    world.scheduler.after(chance.between(500, 6_000), 'kubelet', 'starts gateway', () =>
      world.startGateway(),
    );
  },
  controller_killed: (world, chance) => {
    if (world.controllers.length === 0) return;
    const process = chance.pick(world.controllers);
    tell(world, process.name, 'KILLED');
    process.kill();
    world.scheduler.after(chance.between(500, 8_000), 'kubelet', 'starts controller', () =>
      world.startController(),
    );
  },
  redis_away: (world, chance) => {
    const awayMs = chance.between(200, 12_000);
    tell(world, 'redis', `AWAY for ${awayMs} ms`);
    world.redis.downUntilMs = world.scheduler.nowMs + awayMs;
  },
  redis_replaced: (world, chance) => {
    const { redis, scheduler } = world;
    tell(world, 'redis', 'REPLACED by an empty one');
    redis.downUntilMs = scheduler.nowMs + chance.between(100, 3_000);
    redis.replacedMs.push(scheduler.nowMs);
    redis.run = `redis-${1 + redis.replacedMs.length}`;
    return redis.scripts.empty();
  },
  /** Somebody acts on a lie, as after a failover: another rollout asks for a sandbox that is not its own. */
  stray_bind: (world, chance) => {
    const box = someBox(world, chance);
    const other = chance.pick(world.planned);
    if (box === null || world.scheduler.nowMs < box.stalledUntilMs) return;
    strayBind(world, box, other.run, other.name);
  },
} as const satisfies Record<string, Disaster>;

/** What happens to one sandbox is what the product is about. */
const likely = ['sandbox_killed', 'boot_changed', 'daemon_stalled', 'gateway_killed'] as const;

/** Plans what will strike this world, and when. Most of it while calls run. */
export function planDisasters(world: World): void {
  if (world.faults.calm) return;
  const chance = new Chance(`seed ${world.seed}`).fork('disasters');
  strikeBeforeGrades(world, chance.fork('before grades'));
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
    if (box === undefined) return;
    strike(world, 'sandboxd restarted before the grade', box);
    world.sandboxes.reboot(box);
  };
}

function someBox(world: World, chance: Chance): Box | null {
  const boxes = world.sandboxes.all();
  const bound = boxes.filter((box) => box.daemon.identity().owner !== null);
  const from = bound.length > 0 && chance.happens(0.8) ? bound : boxes;
  return from.length === 0 ? null : chance.pick(from);
}

function strike(world: World, what: string, { sandbox }: Box): void {
  world.faults.note(what, { sandbox });
  world.story.tell(sandbox, what.toUpperCase());
}

function tell(world: World, who: string, what: string): void {
  world.faults.note(`${who} ${what}`, 'anybody');
  world.story.tell(who, what);
}

/** A refused bind hurts nobody; an unbound sandbox may be taken by it, and then it is simply lost for others. */
function strayBind(world: World, box: Box, run: string, rollout: string): void {
  const owner = { tenant: 'lab', run, rollout, attempt: 1, role: 'policy' } as const;
  strike(world, `asked by ${rollout}, by mistake`, box);
  try {
    box.daemon.bind({ protocol: 1, owner, expiresInMs: 240_000 });
  } catch (thrown) {
    world.story.tell(box.sandbox, `answers ${String(thrown)}`);
  }
}
