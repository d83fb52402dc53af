import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type BareBurst, runBare } from './bare/run-bare.ts';
import { atMostInRounds, type Benchmark, exactly, type Figure, median, quantile, within } from './figures.ts';
import { type BenchFleet, startBenchFleet } from './fleet.ts';
import { pidOfPart } from './parts.ts';
import { familyOf } from './processes.ts';
import { machineMs, openOffspringAccount, processMs, seenMs } from './processors.ts';

const burst = 200;
const pool = 20;
/** The others find the pool empty: each waits for a sandbox that is started for it. */
const starts = burst - pool;
/** One run of fleet and floors takes two minutes; the machine changes more between two runs than a tenth. */
const usualRuns = 3;
/**
 * How many bursts a fleet serves in a run. A training makes one for each of its steps, and what services burn for the first a
 * third is JavaScript that no process has compiled yet: so the first and the last are judged, each by itself.
 */
const bursts = 3;
/** What an RFT request may take. */
const deadlineMs = 540_000;
const mostServicesMs = 20;
/** By /proc, by which the goal was found: the sandbox of a bare start, with all steps up to the first answer, had as much. */
const mostSandboxMs = 62;
/** Against the bare one by the kernel's own account, which forgets nobody. */
const mostSandbox = 1.1;
/** Each writes its own number where a second execution would be seen. */
const commandOf = (index: number) => `echo ${index} >> seen; cat seen`;

/**
 * Two hundred rollouts in one instant on a pool of twenty: nobody is refused, lost, or answered twice, and all of it takes
 * little longer than the same sandboxes without a fleet. Two floors, in turns with the fleet: as many sandboxes started with
 * the same arguments, as many at once, until their sandboxd is up; and with all that is then asked of them, until the last
 * first command is answered. A start is one of the 180 that the burst makes; all that the burst burns is divided by them.
 */
export const bigBurst: Benchmark = {
  name: 'big-burst',
  run: async (say, runs) => {
    const rounds: Round[] = [];
    for (let round = 0; round < (runs ?? usualRuns); round += 1) {
      say(`run ${round + 1} of ${runs ?? usualRuns}`);
      const measured = await measure(round, say);
      tellRound(measured, say);
      rounds.push(measured);
    }
    const first = rounds.map(({ fleet: { first }, bare }) => ({ burst: first, bare }));
    const last = rounds.map(({ fleet: { last }, bare }) => ({ burst: last, bare }));
    return [
      ...promises([...first, ...last]),
      ...[...speeds(first), ...costs(first)].map(named('first burst')),
      ...[...speeds(last), ...costs(last)].map(named(`burst ${bursts}`)),
    ];
  },
};

const named = (which: string) => (figure: Figure) => ({ ...figure, what: `${which}: ${figure.what}` });

type Round = { readonly fleet: FleetBursts; readonly bare: Bare };
/** One burst of a fleet beside the floors of its round. */
type Judged = { readonly burst: FleetBurst; readonly bare: Bare };
type Bare = { readonly health: BareBurst; readonly command: BareBurst };

/** Now the fleet first and now the floors. */
async function measure(round: number, say: (line: string) => void): Promise<Round> {
  const floors = async (): Promise<Bare> => {
    say(`${starts} sandboxes without a fleet, twice`);
    const command = commandOf(0);
    const health = await runBare({ warm: 0, starts, until: 'health', command });
    return { health, command: await runBare({ warm: pool, starts, until: 'command', command }) };
  };
  if (round % 2 === 0) {
    const fleet = await fleetBursts(say);
    return { fleet, bare: await floors() };
  }
  const bare = await floors();
  return { fleet: await fleetBursts(say), bare };
}

/** Milliseconds of processor in a burst, by who had them. */
type Burned = Readonly<Record<Burner, number>>;
const services = ['gateway', 'controller', 'node', 'redis'] as const;
const burners = [...services, 'sandboxes', 'client', 'machine'] as const;
type Burner = (typeof burners)[number];

type FleetBurst = {
  readonly answers: readonly Answer[];
  readonly lastMs: number;
  readonly burned: Burned;
  /** What the sandboxes had by /proc. */
  readonly seenMs: number;
};
type FleetBursts = { readonly first: FleetBurst; readonly last: FleetBurst };

async function fleetBursts(say: (line: string) => void): Promise<FleetBursts> {
  say(`starting a fleet with ${pool} warm sandboxes`);
  // No more than the burst takes: a pool that fills itself again would be counted as starts.
  await using bench = await startBenchFleet({ minReady: pool, max: burst });
  await bench.warm(pool);
  await using meter = await openMeter(bench);
  const made: FleetBurst[] = [];
  for (let number = 1; number <= bursts; number += 1) {
    say(`${burst} first calls in one instant, ${number} of ${bursts}`);
    made.push(await oneBurst(bench, meter, `burst-${number}`));
    await endAll(bench, `burst-${number}`);
  }
  const [first, last] = [made[0], made.at(-1)];
  if (first === undefined || last === undefined) throw new Error('no burst was made');
  return { first, last };
}

async function oneBurst(bench: BenchFleet, meter: Meter, name: string): Promise<FleetBurst> {
  const [before, seenBefore] = [await meter.read(), await meter.seen()];
  const start = performance.now();
  const answers = await Promise.all(
    Array.from({ length: burst }, async (_, index) => {
      const answer = await bench.tryCall(`${name}-${index}`, `call-${index}`, commandOf(index));
      return { ...answer, index, elapsedMs: performance.now() - start };
    }),
  );
  const after = await meter.read();
  const spent = burners.map((burner) => [burner, after[burner] - before[burner]] as const);
  const lastMs = Math.max(...answers.map(({ elapsedMs }) => elapsedMs));
  const burned = Object.fromEntries(spent) as Record<Burner, number>;
  return { answers, lastMs, burned, seenMs: (await meter.seen()) - seenBefore };
}

/** As a trainer ends its step: until the machine has only the warm ones again. */
async function endAll(bench: BenchFleet, name: string): Promise<void> {
  await Promise.all(Array.from({ length: burst }, (_, index) => bench.finish(`${name}-${index}`)));
  const folder = join(bench.fleet.stateDir, 'node/sandboxes');
  const deadlineMs = performance.now() + endedMs;
  while ((await readdir(folder)).length > pool) {
    if (performance.now() > deadlineMs) throw new Error(`sandboxes of ${name} do not end`);
    await sleep(200);
  }
  await bench.warm(pool);
}

const endedMs = 120_000;

type Meter = Awaited<ReturnType<typeof openMeter>>;

async function openMeter({ fleet }: BenchFleet) {
  const { stateDir } = fleet;
  const pids = await Promise.all(services.map((part) => pidOfPart(stateDir, part)));
  const node = { fleet: 'local', stateFolder: `${stateDir}/node` };
  const nodePid = await pidOfPart(stateDir, 'node');
  const sandboxes = await openOffspringAccount(nodePid, node);
  const read = async (): Promise<Burned> => {
    const [gateway = 0, controller = 0, ofNode = 0, redis = 0] = await Promise.all(pids.map(processMs));
    const { user, system } = process.cpuUsage();
    return {
      gateway,
      controller,
      node: ofNode,
      redis,
      sandboxes: await sandboxes.usedMs(),
      client: (user + system) / 1e3,
      machine: await machineMs(),
    };
  };
  const seen = async () => seenMs((await familyOf(nodePid)).filter((pid) => pid !== nodePid));
  return { read, seen, [Symbol.asyncDispose]: () => sandboxes[Symbol.asyncDispose]() };
}

type Answer = {
  readonly status: number;
  readonly body: string;
  readonly index: number;
  readonly elapsedMs: number;
};

function promises(judged: readonly Judged[]): readonly Figure[] {
  const answers = judged.flatMap(({ burst: { answers } }) => answers);
  const lost = answers.filter(({ status }) => status !== 200).length;
  const refused = answers.filter(({ status }) => status >= 400 && status < 500).length;
  const wrong = answers.filter(
    ({ status, body, index }) => status === 200 && outputOf(body) !== `${index}\n`,
  );
  const none = (what: string, value: number): Figure =>
    exactly({ what: `rollouts of ${answers.length} ${what}`, unit: '', value, floor: 0 });
  return [
    none('not answered 200', lost),
    none('answered with 4xx', refused),
    none('run twice, or in another rollout’s sandbox', wrong.length),
  ];
}

const outputOf = (body: string) => (JSON.parse(body) as { output: string }).output;

function speeds(judged: readonly Judged[]): readonly Figure[] {
  const against = (most: number, until: string, floorOf: (bare: Bare) => BareBurst): readonly Figure[] => {
    const lasts = judged.map(({ burst, bare }) => ({ value: burst.lastMs, floor: floorOf(bare).lastMs }));
    const burned = judged.map(({ burst, bare }) => ({ value: oursMs(burst), floor: bareMs(floorOf(bare)) }));
    const what = `against bare sandboxes ${until}`;
    return [
      atMostInRounds({ what: `last answer ${what}`, unit: 'ms', rounds: lasts }, most),
      atMostInRounds({ what: `processor ${what}`, unit: 'ms', rounds: burned }, most),
    ];
  };
  const times = judged.map(({ burst }) => burst.answers.map(({ elapsedMs }) => elapsedMs));
  const held = (what: string, share: number): Figure => {
    const value = median(times.map((each) => quantile(each, share)));
    return within({ what, unit: 'ms', value, floor: deadlineMs });
  };
  return [
    ...against(1.2, 'that answered a command', ({ command }) => command),
    ...against(1.5, 'that are up', ({ health }) => health),
    held('last answer', 1),
    held('p50 of the answers', 0.5),
  ];
}

function costs(judged: readonly Judged[]): readonly Figure[] {
  const ofStart = (of: (burst: FleetBurst) => number) =>
    median(judged.map(({ burst }) => of(burst) / starts));
  const sandboxes = judged.map(({ burst, bare }) => ({
    value: burst.burned.sandboxes / starts,
    floor: bare.command.sandboxesMs / starts,
  }));
  return [
    within({
      what: 'processor for a start: gateway, controller, node and redis',
      unit: 'ms',
      value: ofStart(({ burned }) => services.reduce((sum, part) => sum + burned[part], 0)),
      floor: mostServicesMs,
    }),
    within({
      what: 'processor for a start: the sandbox, as /proc sees it',
      unit: 'ms',
      value: ofStart(({ seenMs }) => seenMs),
      floor: mostSandboxMs,
    }),
    atMostInRounds(
      {
        what: 'processor for a start: the sandbox, with its launch and its command',
        unit: 'ms',
        rounds: sandboxes,
      },
      mostSandbox,
    ),
  ];
}

/** Seconds are the neighbours' too, where this machine has some; what was burned is not, so both are judged. */
function oursMs({ burned }: FleetBurst): number {
  const { machine: _, ...known } = burned;
  return Object.values(known).reduce((sum, ms) => sum + ms, 0);
}

const bareMs = ({ sandboxesMs, driverMs }: BareBurst) => sandboxesMs + driverMs;

const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
const perStart = (ms: number) => (ms / starts).toFixed(1);

function tellRound({ fleet, bare }: Round, say: (line: string) => void): void {
  tellBurst('first burst', fleet.first, say);
  tellBurst(`burst ${bursts}`, fleet.last, say);
  for (const [until, floor] of Object.entries(bare)) {
    const parts = `sandboxes ${perStart(floor.sandboxesMs)}, what started them ${perStart(floor.driverMs)}`;
    say(
      `bare until ${until}: ${seconds(floor.lastMs)}; ms a start, of ${perStart(floor.machineMs)}: ${parts}`,
    );
  }
}

function tellBurst(which: string, made: FleetBurst, say: (line: string) => void): void {
  const { machine, ...known } = made.burned;
  const each = Object.entries({ ...known, 'rest of the machine': machine - oursMs(made) });
  say(
    `${which}: last answer after ${seconds(made.lastMs)}; ms of processor a start, of ${perStart(machine)}:`,
  );
  say(each.map(([who, ms]) => `${who} ${perStart(ms)}`).join(', '));
}
