import { seededRandom } from '#demo/seeded-random.ts';
import { openHttp } from '#demo/trainer/http.ts';
import { trainingJob } from '#demo/trainer/training-job.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { Random } from '#src/ports/random.ts';
import { sabotage } from './faults/saboteur.ts';
import type { PartWatch } from './fleet/part-watch.ts';
import { sandboxdOf, sandboxOf } from './fleet/sandbox-of.ts';
import { environmentName, type SoakFleet } from './fleet/soak-fleet.ts';
import type { SoakOptions } from './options.ts';
import type { SoakFindings } from './report/soak-report.ts';
import { droppingConnections } from './trainer/dropped-connections.ts';
import { type FaultDone, reasonOf } from './trainer/faults-seen.ts';
import { judge } from './trainer/judge.ts';
import type { PlayWorld } from './trainer/play-rollout.ts';
import { signalOf } from './trainer/signal.ts';
import type { RolloutTruth } from './trainer/truth.ts';
import { type Discarded, verdictOf } from './trainer/verdict.ts';
import { planWave, playWaves, type Wave } from './waves.ts';

export type SoakWorld = {
  readonly options: SoakOptions;
  readonly fleet: SoakFleet;
  readonly parts: PartWatch;
  readonly clock: Clock;
  readonly random: Random;
  /** The beginning of the soak on the monotonic clock. */
  readonly startMs: number;
  readonly say: (line: string) => void;
};

const minuteMs = 60_000;
const progressMs = 5_000;

/** Plays waves and does damage until the minutes are over, lets what runs come to its grade, and judges it all. */
export async function runSoak(world: SoakWorld): Promise<SoakFindings> {
  const { clock, options, random } = world;
  const run = `soak-${random.text(8)}`;
  const timeIsUp = new AbortController();
  const timer = setTimeout(() => timeIsUp.abort(), options.minutes * minuteMs);
  const calling = new Set<string>();
  const truths: RolloutTruth[] = [];
  const http = openHttp();
  const { apiKey } = world.fleet;
  const jobAt = (gatewayUrl: string) =>
    trainingJob({ gatewayUrl, apiKey, run, environment: environmentName, tools: ['shell'] });
  const playing: PlayWorld = {
    jobs: [jobAt(world.fleet.gatewayUrl), jobAt(world.fleet.otherGatewayUrl)],
    post: droppingConnections(http.post, random),
    clock,
    random,
    startMs: world.startMs,
    stopping: timeIsUp.signal,
    onCalling: (rollout, is) => void (is ? calling.add(rollout) : calling.delete(rollout)),
  };
  const faults: FaultDone[] = [];
  const progress = setInterval(
    () => world.say(progressLine(world, truths, faults, calling.size)),
    progressMs,
  );
  try {
    const damage = doDamage(world, calling, timeIsUp.signal, (fault) => faults.push(fault));
    const waves = await playWaves(
      (number) => planWave(number, options),
      playing,
      (truth) => truths.push(truth),
    );
    await damage;
    return await judgeAll(world, run, waves, faults);
  } finally {
    clearInterval(progress);
    clearTimeout(timer);
    timeIsUp.abort();
    await http.close();
  }
}

function doDamage(
  world: SoakWorld,
  calling: ReadonlySet<string>,
  stopping: AbortSignal,
  tell: (fault: FaultDone) => void,
) {
  return sabotage(
    {
      fleet: world.fleet,
      clock: world.clock,
      random: seededRandom(`${world.options.seed}/faults`),
      nowMs: () => world.clock.monotonicMs() - world.startMs,
      calling: () => calling,
      backAtMs: (part) => world.parts.backAtMs(part),
      sandboxdOf,
      kill: (pid, signal) => void process.kill(pid, signal),
    },
    stopping,
    tell,
  );
}

async function judgeAll(
  world: SoakWorld,
  run: string,
  waves: readonly Wave[],
  faults: readonly FaultDone[],
): Promise<SoakFindings> {
  const truths = waves.flat();
  const findings = truths.flatMap((truth) => judge(truth));
  const discards: Discarded[] = [];
  for (const truth of truths.filter(({ ending }) => ending.kind === 'discarded')) {
    const sandbox = await sandboxOf(world.fleet, run, truth.rollout);
    discards.push({ truth, reason: reasonOf(truth, sandbox, faults) });
  }
  const signals = waves.map(signalOf);
  return { verdict: verdictOf(truths, findings, discards), signals, truths, findings, discards, faults };
}

function progressLine(
  { clock, startMs }: SoakWorld,
  truths: readonly RolloutTruth[],
  faults: readonly FaultDone[],
  calling: number,
): string {
  const seconds = Math.round((clock.monotonicMs() - startMs) / 1000);
  const discarded = truths.filter(({ ending }) => ending.kind === 'discarded').length;
  const last = faults.at(-1)?.name ?? 'none yet';
  return `${String(seconds).padStart(5)} s  ${truths.length} ended, ${discarded} of them discarded, ${calling} calling; ${faults.length} faults, last: ${last}`;
}
