import type { LocalSandbox } from '#cli/fleet/sandbox-list.ts';
import { shuffled } from '#demo/seeded-random.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { Random } from '#src/ports/random.ts';
import type { Part, SoakFleet } from '../fleet/soak-fleet.ts';
import { lossesOfWave } from '../load-model/days.ts';
import { drawBetween } from '../load-model/distributions.ts';
import type { FaultDone } from '../trainer/faults-seen.ts';

/** What a fault may reach. */
export type FaultWorld = {
  readonly fleet: Pick<SoakFleet, 'sandboxes' | 'pidOf'>;
  readonly clock: Clock;
  readonly random: Random;
  /** Milliseconds since the load test began. */
  readonly nowMs: () => number;
  /** Rollouts with a call under way at this moment. */
  readonly calling: () => ReadonlySet<string>;
  /** Resolves when a part that was killed is ready again, with the moment. */
  readonly backAtMs: (part: string) => Promise<number>;
  readonly sandboxdOf: (sandbox: LocalSandbox) => Promise<number | null>;
  readonly kill: (pid: number, signal: NodeJS.Signals) => void;
};

/** One kind of fault. Resolves with all that was hit; nothing where there was nothing to hit. */
export type Fault = {
  readonly name: string;
  readonly strike: (world: FaultWorld) => Promise<readonly FaultDone[]>;
};

type Choice = (sandbox: LocalSandbox, world: FaultWorld) => boolean;

const bound: Choice = ({ owner }) => owner !== null;
const unbound: Choice = ({ owner }) => owner === null;
const calling: Choice = ({ owner }, world) => owner !== null && world.calling().has(owner.rollout);

export const killBound = killer('sandbox killed between calls or in one', bound);
export const killUnbound = killer('sandbox killed before its rollout', unbound);
export const killCalling = killer('sandbox killed while a command runs', calling);

function killer(name: string, choice: Choice): Fault {
  return {
    name,
    strike: async (world) => {
      const chosen = await choose(world, choice);
      if (chosen === null || !sent(world, chosen.pid, 'SIGKILL')) return [];
      return [done(name, chosen, world.nowMs(), world.nowMs())];
    },
  };
}

/** Long enough that held requests notice, short enough that it is no loss. */
const stopMs = { least: 500, most: 4_000 };

/** The daemon stands still, as on a machine that is starved, and then goes on. */
export const stopForSeconds: Fault = {
  name: 'sandboxd stopped for seconds',
  strike: async (world) => {
    const chosen = await choose(world, bound);
    const pid = chosen && (await world.sandboxdOf(chosen));
    if (chosen === null || pid === null || !sent(world, pid, 'SIGSTOP')) return [];
    const fromMs = world.nowMs();
    await world.clock.sleep(drawBetween(world.random, stopMs.least, stopMs.most));
    sent(world, pid, 'SIGCONT');
    return [done(stopForSeconds.name, chosen, fromMs, world.nowMs())];
  },
};

/** A bad day's share of all rollouts, in the same moment, as when a spot market takes its machines back. */
export const killWave: Fault = {
  name: 'sandbox lost with many others',
  strike: async (world) => {
    const candidates = shuffled(
      (await world.fleet.sandboxes()).filter((each) => bound(each, world)),
      world.random,
    );
    const lost = candidates.slice(0, lossesOfWave(world.random, candidates.length));
    const killed = lost.filter(({ pid }) => sent(world, pid, 'SIGKILL'));
    return killed.map((each) => done(killWave.name, each, world.nowMs(), world.nowMs()));
  },
};

async function choose(world: FaultWorld, choice: Choice): Promise<LocalSandbox | null> {
  const candidates = (await world.fleet.sandboxes()).filter((each) => choice(each, world));
  return candidates[Math.floor(world.random.next() * candidates.length)] ?? null;
}

/** False when it ended by itself in between. */
function sent(world: FaultWorld, pid: number, signal: NodeJS.Signals): boolean {
  try {
    world.kill(pid, signal);
    return true;
  } catch {
    return false;
  }
}

const done = (
  name: string,
  { sandbox, owner }: LocalSandbox,
  fromMs: number,
  untilMs: number,
): FaultDone => ({
  name,
  fromMs,
  untilMs,
  hit: { sandbox, rollout: owner?.rollout ?? null },
});

export const killGateway = partKiller('gateway');
export const killOtherGateway = partKiller('other gateway');
export const killController = partKiller('controller');
export const killRedis = partKiller('redis');

/** Row 20 of the load model, a machine lost: on one machine all sandboxes are on it. */
export const killNode: Fault = {
  name: 'node killed',
  strike: async (world) => {
    const sandboxes = await world.fleet.sandboxes();
    const [killed] = await partKiller('node').strike(world);
    if (killed === undefined) return [];
    const lost = sandboxes.map(({ sandbox, owner }) => ({
      name: 'sandbox lost with its node',
      fromMs: killed.fromMs,
      untilMs: killed.fromMs,
      hit: { sandbox, rollout: owner?.rollout ?? null },
    }));
    return [killed, ...lost];
  },
};

/** SIGKILL; the fleet starts the part again. */
function partKiller(part: Part): Fault {
  const name = `${part} killed`;
  return {
    name,
    strike: async (world) => {
      const pid = await world.fleet.pidOf(part);
      if (pid === null) return [];
      const back = world.backAtMs(part);
      const fromMs = world.nowMs();
      world.kill(pid, 'SIGKILL');
      return [{ name, fromMs, untilMs: await back, hit: { part } }];
    },
  };
}
