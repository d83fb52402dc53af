import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { FilledFleet } from './cost-curve/filled-fleet.ts';
import { atMost, type Benchmark, type Figure, median } from './figures.ts';
import { type PlayedProcesses, type Role, type Spent, startPlayedProcesses } from './played-processes.ts';

/** Few, many, most. */
type Sizes = readonly [number, number, number];
const fleets: Sizes = [100, 1_000, 5_000];
const pools: Sizes = [10, 300, 3_000];
const roles: readonly Role[] = ['redis', 'gateway', 'controller'];
/** Of what is measured, after one that counts for nothing: what is compiled and connected once. */
const turns = 5;
const startsOfTurn = 80;
const callsOfTurn = 200;
const launchesOfTurn = 60;
/** What an answer leaves to be done (labels, confirmations, the queue) is done by then, and belongs to it. */
const afterMs = 1_500;
/** Twice the longest period of those of their loops that come often. */
const idleMs = 20_000;

/**
 * What a first call (with the launch of its sandbox), a tool call, a waiting rollout and second, and a launch cost the
 * processors of Redis, gateway and controller, with few, many and most of them there.
 *
 * Three fleets stand side by side and work in the same moments, so that a machine whose speed drifts is equally slow for all. Redis, gateway
 * and controller are the real processes; node and all sandboxdes are one process that plays them. Everything measured goes
 * through them as a trainer's request does. The rollouts that are open before that, and the pools that are full, were written
 * into fleet state by us: 5,000 first calls would take minutes. So the gateway of most has not itself served all of them.
 *
 * T(n) is what n units cost together where n are there. Its rise for each from many to most must be about that from few to
 * many: then a unit costs the same in any fleet. What a process burns while nobody asks is measured before and taken off; whether
 * that rises with those who are there is a figure of its own.
 */
export const costCurve: Benchmark = {
  name: 'cost-curve',
  run: async (say) => [...(await ofRollouts(say)), ...(await ofTemplates(say))],
};

async function ofRollouts(say: Say): Promise<readonly Figure[]> {
  const environmentsDir = join(import.meta.dirname, 'cost-curve/environments');
  // 5,000 wait at once; a gateway takes 4,000 unless it is told otherwise.
  const gatewayEnv = { CORRAL_MAX_HELD_REQUESTS: '10000' };
  const options = { environmentsDir, pool: { full: { max: 0 } }, gatewayEnv, say };
  await using three = await threeOf(async () => startPlayedProcesses(options));
  say(`filling fleets of ${fleets.join(', ')} open rollouts`);
  await three.each((fleet, index) => fleet.open(fleets[index] ?? 0, 'open'));
  await three.begin('controller', 'gateway');
  say('nobody asks');
  const before = await three.idle();
  say('first calls and tool calls');
  const mine: string[][] = [[], [], []];
  const first = await three.work(async (fleet, index) => {
    mine[index]?.push(...(await fleet.firstCalls(startsOfTurn, 'open')));
  });
  const tool = await three.work(async (fleet, index, turn) => {
    await fleet.toolCalls(mine[index]?.slice(0, callsOfTurn) ?? [], `turn-${turn}`, 'open');
  });
  say('nobody asks again');
  const idle = meanOf(before, await three.idle());
  say(`${fleets.join(', ')} wait beside them`);
  await three.each((fleet, index) => fleet.wait(fleets[index] ?? 0, 'full'));
  await sleep(afterMs);
  const waited = await three.idle();
  const perWaiter = waited.map((spent, index) => perUnit(less(spent, idle[index]), fleets[index] ?? 1));
  const perOpen = idle.map((spent, index) => perUnit(spent, fleets[index] ?? 1));
  return [
    ...judged(
      { what: 'a first call', sizes: fleets, costs: costOf(first, startsOfTurn, idle), seenFromUs: 300 },
      say,
    ),
    ...judged(
      { what: 'a tool call', sizes: fleets, costs: costOf(tool, callsOfTurn, idle), seenFromUs: 200 },
      say,
    ),
    ...judged({ what: 'a waiting rollout and second', sizes: fleets, costs: perWaiter, seenFromUs: 3 }, say),
    ...judged({ what: 'an open rollout and second', sizes: fleets, costs: perOpen, seenFromUs: 3 }, say),
  ];
}

async function ofTemplates(say: Say): Promise<readonly Figure[]> {
  const folders = await Promise.all(pools.map(environmentsOf));
  try {
    await using three = await threeOf(async (index) =>
      startPlayedProcesses({ environmentsDir: folders[index] ?? '', pool: {}, say }),
    );
    say(`filling the pools of ${pools.join(', ')} templates`);
    await three.each((fleet, index) => fleet.fillPools(readyOf(pools[index] ?? 1)));
    await three.begin('controller');
    say('nobody asks');
    const before = await three.idle();
    say('launches');
    const launch = await three.work((fleet, _, turn) => fleet.takeFromPools(turn, launchesOfTurn));
    say('nobody asks again');
    const idle = meanOf(before, await three.idle());
    const perTemplate = idle.map((spent, index) => perUnit(spent, pools[index] ?? 1));
    return [
      ...judged(
        { what: 'a launch', sizes: pools, costs: costOf(launch, launchesOfTurn, idle), seenFromUs: 300 },
        say,
      ),
      ...judged({ what: 'a template and second', sizes: pools, costs: perTemplate, seenFromUs: 2 }, say),
    ];
  } finally {
    await Promise.all(folders.map((folder) => rm(folder, { recursive: true })));
  }
}

type Say = (line: string) => void;
type Work = (fleet: FilledFleet, index: number, turn: number) => Promise<void>;

/** Milliseconds of processor by fleet. */
type Turn = { readonly each: readonly Spent[]; readonly seconds: number };

/** Three fleets at once. */
type Three = AsyncDisposable & {
  each(work: Work): Promise<void>;
  begin(...roles: readonly ('controller' | 'gateway')[]): Promise<void>;
  /** Milliseconds of processor a second, while nothing new is asked. */
  idle(): Promise<readonly Spent[]>;
  /** What was burned in each turn, with what it left to be done. */
  work(work: Work): Promise<readonly Turn[]>;
};

async function threeOf(start: (index: number) => Promise<PlayedProcesses>): Promise<Three> {
  const played = await Promise.all(fleets.map((_, index) => start(index)));
  const filled = played.map((processes) => new FilledFleet(processes));
  const spent = () => Promise.all(played.map((processes) => processes.spent()));
  const inAll = async (work: Work, turn: number) => {
    await Promise.all(filled.map((fleet, index) => work(fleet, index, turn)));
  };
  /** What each has spent meanwhile, and in how many seconds. */
  const during = async (work: () => Promise<void>): Promise<Turn> => {
    const [before, beganMs] = [await spent(), performance.now()];
    await work();
    const [after, seconds] = [await spent(), (performance.now() - beganMs) / 1_000];
    return { each: after.map((one, index) => less(one, before[index])), seconds };
  };
  return {
    each: (work) => inAll(work, 0),
    begin: async (...which) => {
      for (const processes of played) await processes.begin(...which);
      // Environments are agreed on and published, and the provider's list is read.
      await sleep(settledMs);
    },
    idle: async () => {
      const { each, seconds } = await during(() => sleep(idleMs));
      return each.map((one) => mapped(one, (ms) => ms / seconds));
    },
    work: async (work) => {
      const all: Turn[] = [];
      for (let turn = 0; turn <= turns; turn += 1) {
        const measured = await during(async () => {
          await inAll(work, turn);
          await sleep(afterMs);
        });
        if (turn > 0) all.push(measured);
      }
      return all;
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(filled.map((fleet) => fleet.close()));
      await Promise.all(played.map((processes) => processes[Symbol.asyncDispose]()));
    },
  };
}

const settledMs = 5_000;

/** Microseconds of a unit, by fleet: the median over the turns, without what would have been burned anyway. */
function costOf(measured: readonly Turn[], units: number, idle: readonly Spent[]): readonly Spent[] {
  return idle.map((anyway, index) => {
    const costs = measured.flatMap(({ each, seconds }) => {
      const [one, meanwhile] = [each[index], mapped(anyway, (ms) => ms * seconds)];
      return one === undefined ? [] : [perUnit(less(one, meanwhile), units)];
    });
    return mapped(anyway, (_, role) => median(costs.map((cost) => cost[role])));
  });
}

type Curve = {
  readonly what: string;
  readonly sizes: Sizes;
  /** Microseconds of a unit, by size. */
  readonly costs: readonly Spent[];
  /** What two measurements of nothing may differ by; a cost below it counts as so much. */
  readonly seenFromUs: number;
};

function judged({ what, sizes, costs, seenFromUs }: Curve, say: Say): readonly Figure[] {
  return roles.flatMap((role) => {
    const us = costs.map((cost) => cost[role]);
    if (us.every((each) => each === 0)) return [];
    const [few = 0, many = 0, most = 0] = sizes.map((size, index) => size * (us[index] ?? Number.NaN));
    const early = (many - few) / (sizes[1] - sizes[0]);
    const late = (most - many) / (sizes[2] - sizes[1]);
    const told = sizes.map((size, index) => `${us[index]?.toFixed(1)} with ${size}`).join(', ');
    const fixedMs = Math.max(0, few - sizes[0] * early) / 1_000;
    const fixed = what.endsWith('second') ? `, of which ${fixedMs.toFixed(1)} ms whatever their number` : '';
    say(`${role}, µs for ${what}: ${told}${fixed}`);
    const named = `${role} for ${what}, from ${sizes[1]} to ${sizes[2]} ÷ from ${sizes[0]} to ${sizes[1]}`;
    const [value, floor] = [Math.max(late, seenFromUs), Math.max(early, seenFromUs)];
    return [atMost({ what: named, unit: 'µs', value, floor }, 1.5)];
  });
}

function mapped(spent: Spent, of: (value: number, role: Role) => number): Spent {
  const { redis, gateway, controller } = spent;
  return {
    redis: of(redis, 'redis'),
    gateway: of(gateway, 'gateway'),
    controller: of(controller, 'controller'),
  };
}

const less = (spent: Spent, other: Spent | undefined): Spent =>
  mapped(spent, (ms, role) => ms - (other?.[role] ?? Number.NaN));
/** Milliseconds of all, as microseconds of each. */
const perUnit = (spent: Spent, units: number): Spent => mapped(spent, (ms) => (ms * 1_000) / units);
const meanOf = (some: readonly Spent[], others: readonly Spent[]): readonly Spent[] =>
  some.map((one, index) => mapped(one, (ms, role) => (ms + (others[index]?.[role] ?? Number.NaN)) / 2));

/** As many as a turn takes of each. */
const readyOf = (templates: number) => Math.ceil(launchesOfTurn / templates);

/** Each of a template of its own: they differ in how much disk they have. */
async function environmentsOf(count: number): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'corral-environments-'));
  for (let index = 0; index < count; index += 1) {
    const lines = [
      `name: pool-${index}`,
      'description: One of many pools.',
      `sandbox: { image: host, start_timeout: 5m, disk: ${1_000 + index}Mi }`,
      'tools: { shell: { builtin: shell } }',
      'limits: { tool_calls: 4000, rollout: 2h, hard_life: 3h }',
      'grader: { kind: text, match: exact, reference: item.answer }',
      `pool: { min_ready: ${readyOf(count)}, max: 1000 }`,
    ];
    await writeFile(join(folder, `pool-${index}.yaml`), `${lines.join('\n')}\n`);
  }
  return folder;
}
