import { type BareBurst, runBare } from './bare/run-bare.ts';
import { atMostInRounds, type Benchmark, exactly, type Figure, median, quantile, within } from './figures.ts';
import { type BenchFleet, startBenchFleet } from './fleet.ts';
import { pidOfPart } from './parts.ts';
import { machineMs, openOffspringAccount, processMs } from './processors.ts';

const burst = 200;
const pool = 20;
/** The others find the pool empty: each waits for a sandbox that is started for it. */
const starts = burst - pool;
/** One run of fleet and floors takes a minute; the machine changes more between two runs than a tenth. */
const usualRuns = 3;
/** What an RFT request may take. */
const deadlineMs = 540_000;
const mostServicesMs = 20;
const mostSandboxMs = 62;
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
    return [...promises(rounds), ...speeds(rounds), ...costs(rounds)];
  },
};

type Round = { readonly fleet: FleetBurst; readonly bare: Bare };
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
    const fleet = await fleetBurst(say);
    return { fleet, bare: await floors() };
  }
  const bare = await floors();
  return { fleet: await fleetBurst(say), bare };
}

/** Milliseconds of processor in a burst, by who had them. */
type Burned = Readonly<Record<Burner, number>>;
const services = ['gateway', 'controller', 'node', 'redis'] as const;
const burners = [...services, 'sandboxes', 'client', 'machine'] as const;
type Burner = (typeof burners)[number];

type FleetBurst = { readonly answers: readonly Answer[]; readonly lastMs: number; readonly burned: Burned };

async function fleetBurst(say: (line: string) => void): Promise<FleetBurst> {
  say(`starting a fleet with ${pool} warm sandboxes`);
  // No more than the burst takes: a pool that fills itself again would be counted as starts.
  await using bench = await startBenchFleet({ minReady: pool, max: burst });
  await bench.warm(pool);
  await using meter = await openMeter(bench);
  say(`${burst} first calls in one instant`);
  const before = await meter.read();
  const start = performance.now();
  const answers = await Promise.all(
    Array.from({ length: burst }, async (_, index) => {
      const answer = await bench.tryCall(`rollout-${index}`, `call-${index}`, commandOf(index));
      return { ...answer, index, elapsedMs: performance.now() - start };
    }),
  );
  const after = await meter.read();
  const spent = burners.map((burner) => [burner, after[burner] - before[burner]] as const);
  const lastMs = Math.max(...answers.map(({ elapsedMs }) => elapsedMs));
  return { answers, lastMs, burned: Object.fromEntries(spent) as Record<Burner, number> };
}

async function openMeter({ fleet }: BenchFleet) {
  const { stateDir } = fleet;
  const pids = await Promise.all(services.map((part) => pidOfPart(stateDir, part)));
  const node = { fleet: 'local', stateFolder: `${stateDir}/node` };
  const sandboxes = await openOffspringAccount(await pidOfPart(stateDir, 'node'), node);
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
  return { read, [Symbol.asyncDispose]: () => sandboxes[Symbol.asyncDispose]() };
}

type Answer = {
  readonly status: number;
  readonly body: string;
  readonly index: number;
  readonly elapsedMs: number;
};

function promises(rounds: readonly Round[]): readonly Figure[] {
  const answers = rounds.flatMap(({ fleet }) => fleet.answers);
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

function speeds(rounds: readonly Round[]): readonly Figure[] {
  const against = (most: number, until: string, floorOf: (bare: Bare) => BareBurst): readonly Figure[] => {
    const lasts = rounds.map(({ fleet, bare }) => ({ value: fleet.lastMs, floor: floorOf(bare).lastMs }));
    const burned = rounds.map(({ fleet, bare }) => ({ value: oursMs(fleet), floor: bareMs(floorOf(bare)) }));
    const what = `against bare sandboxes ${until}`;
    return [
      atMostInRounds({ what: `last answer ${what}`, unit: 'ms', rounds: lasts }, most),
      atMostInRounds({ what: `processor ${what}`, unit: 'ms', rounds: burned }, most),
    ];
  };
  const times = rounds.map(({ fleet }) => fleet.answers.map(({ elapsedMs }) => elapsedMs));
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

function costs(rounds: readonly Round[]): readonly Figure[] {
  const ofStart = (of: (burned: Burned) => number) =>
    median(rounds.map(({ fleet }) => of(fleet.burned) / starts));
  return [
    within({
      what: 'processor for a start: gateway, controller, node and redis',
      unit: 'ms',
      value: ofStart((burned) => services.reduce((sum, part) => sum + burned[part], 0)),
      floor: mostServicesMs,
    }),
    within({
      what: 'processor for a start: the sandbox, with its launch and its command',
      unit: 'ms',
      value: ofStart(({ sandboxes }) => sandboxes),
      floor: mostSandboxMs,
    }),
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
  const { machine, ...known } = fleet.burned;
  const ours = oursMs(fleet);
  const each = Object.entries({ ...known, 'rest of the machine': machine - ours });
  say(`last answer after ${seconds(fleet.lastMs)}; ms of processor a start, of ${perStart(machine)}:`);
  say(each.map(([who, ms]) => `${who} ${perStart(ms)}`).join(', '));
  for (const [until, floor] of Object.entries(bare)) {
    const parts = `sandboxes ${perStart(floor.sandboxesMs)}, what started them ${perStart(floor.driverMs)}`;
    say(
      `bare until ${until}: ${seconds(floor.lastMs)}; ms a start, of ${perStart(floor.machineMs)}: ${parts}`,
    );
  }
}
