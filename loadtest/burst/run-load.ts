import { monitorEventLoopDelay } from 'node:perf_hooks';
import { CommandError } from '#cli/command-error.ts';
import { visibleLine } from '#src/model/visible-text.ts';
import { openFleetView } from '#demo/fleet/fleet-view.ts';
import { openHttp } from '#demo/trainer/http.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { Random } from '#src/ports/random.ts';
import type { Script } from '../trainer/play-rollout.ts';
import type { RolloutTruth } from '../trainer/truth.ts';
import { type AloneScores, findLoad, type LoadFindings } from './load-findings.ts';
import type { LoadOptions } from './options.ts';
import { type BurstRollout, planBurst, planTrials } from './plan-burst.ts';
import { type BurstWorld, playBurst, type Played, playOne } from './play-burst.ts';
import { announce, closeRun, meet, type Met, type Target } from './target.ts';
import { isSuccess, type Try } from './tries.ts';

export type LoadWorld = {
  readonly options: LoadOptions;
  readonly clock: Clock;
  readonly random: Random;
  /** Aborted when the person at the terminal wants an end, as if the time were up. */
  readonly ending: AbortSignal;
  /** Aborted when that person does not want to wait for it. */
  readonly interrupted: AbortSignal;
  readonly say: (line: string) => void;
};

export type LoadRun = {
  readonly run: string;
  readonly lastedMs: number;
  /** How late this process itself was, 99th percentile: what is measured is no better than that. */
  readonly ownDelayMs: number;
  readonly findings: LoadFindings;
};

type Seeing = { readonly played: Played[]; readonly tries: Try[] };

const minuteMs = 60_000;
const progressMs = 5_000;
/** The timer that measures it fires so often, and counts its own pause. */
const delayResolutionMs = 10;

/** What is under way when the time is up has so long for its last call and its grade; then it is cut off. */
const graceMs = 2 * minuteMs;

/** Looks at the fleet, plays at it, and closes the run, whatever happens. Throws a CommandError before any load. */
export async function runLoad(world: LoadWorld): Promise<LoadRun> {
  const { options, clock, random } = world;
  const run = options.run ?? `load-${random.text(8)}`;
  const target: Target = { ...options, url: checkedUrl(options.url), run };
  const met = await meet(target, options);
  tellPlan(world, target);
  const ends = endsOf(world);
  const kept = openHttp({ stop: ends.stopped });
  const anew = openHttp({ keepAlive: false, stop: ends.stopped });
  const post = { kept: kept.post, anew: anew.post };
  const { face } = options;
  try {
    return await playAndJudge(world, met, { target, face, tool: met.tool, clock, random, ...ends, post });
  } finally {
    ends.clear();
    if (met.reads) await closeRun(target, clock);
    await Promise.all([kept.close(), anew.close()]);
  }
}

/** Both answers alone, then the bursts. */
async function playAndJudge(
  world: LoadWorld,
  { reads, runsCommands }: Met,
  stage: Omit<BurstWorld, 'startMs' | 'tell'>,
): Promise<LoadRun> {
  const { options, clock } = world;
  const scores = await playTrials(options, stage);
  const seen: Seeing = { played: [], tries: [] };
  // What we end ourselves is nobody's answer.
  const tell = (one: Try) => void (stage.stopped.aborted || seen.tries.push(one));
  const startMs = clock.monotonicMs();
  const delay = monitorEventLoopDelay({ resolution: delayResolutionMs });
  delay.enable();
  await playBursts(world, { ...stage, startMs, tell }, seen);
  delay.disable();
  const lastedMs = clock.monotonicMs() - startMs;
  const ownDelayMs = Math.max(0, delay.percentile(99) / 1_000_000 - delayResolutionMs);
  const fleet = reads ? await startsOf(stage.target) : null;
  const alone = options.anyScore ? null : scores;
  const planned = options.waves * options.rollouts;
  const findings = findLoad({ ...seen, planned, alone, runsCommands, fleet });
  return { run: stage.target.run, lastedMs, ownDelayMs, findings };
}

function tellPlan({ options, say }: LoadWorld, { url, run }: Target): void {
  const { rollouts, environment, face, speed, seed } = options;
  say(
    `${run}: ${rollouts} rollouts of ${environment} at ${url}, ${face} face, time ${speed} times faster, seed ${seed}.`,
  );
  say(
    'What ends in 5xx or a lost connection is sent again three times under the same ids, as platforms do; nothing else is.',
  );
}

function checkedUrl(text: string): string {
  if (URL.canParse(text) && /^https?:/.test(text)) return text.replace(/\/+$/, '');
  throw new CommandError(
    `not a gateway's address: ${text}`,
    'yours',
    'give it like https://corral.example.org',
  );
}

/** When no rollout may begin or go on, and when nothing may be sent any more. An interruption is both at once. */
function endsOf({ options, ending, interrupted }: LoadWorld) {
  const timeIsUp = new AbortController();
  const graceIsUp = new AbortController();
  const stopping = AbortSignal.any([interrupted, ending, timeIsUp.signal]);
  const timers = [setTimeout(() => timeIsUp.abort(), options.minutes * minuteMs)];
  const beginGrace = () => void timers.push(setTimeout(() => graceIsUp.abort(), graceMs));
  stopping.addEventListener('abort', beginGrace, { once: true });
  return {
    stopping,
    stopped: AbortSignal.any([interrupted, graceIsUp.signal]),
    clear() {
      stopping.removeEventListener('abort', beginGrace);
      timers.forEach(clearTimeout);
    },
  };
}

/** Whether the fleet serves at all, and what it scores each answer. */
async function playTrials(
  options: LoadOptions,
  stage: Omit<BurstWorld, 'startMs' | 'tell'>,
): Promise<AloneScores> {
  const tries: Try[] = [];
  const tell = (one: Try) => void tries.push(one);
  const play = async (script: Script) => {
    const world = { ...stage, startMs: stage.clock.monotonicMs(), tell };
    return trialScore(await playOne(script, false, world), tries.at(-1)?.blame ?? null);
  };
  const { right, wrong } = planTrials(options);
  return { right: await play(right), wrong: await play(wrong) };
}

/** Throws a CommandError where there is none. `blame`: whose failure its last answer was. */
function trialScore({ ending, calls }: RolloutTruth, blame: string | null): number {
  const leaked = calls.find((call) => call.leaked);
  if (leaked !== undefined) {
    const said = `the trial call was answered with no function output: ${(leaked.shown ?? '').slice(0, 200)}`;
    throw new CommandError(said, 'the fleet', 'look at what stands before the gateway');
  }
  if (ending.kind === 'scored') return ending.score;
  if (ending.kind === 'cancelled') throw new CommandError('ended before any load', 'yours', 'begin again');
  const said = `a trial rollout was discarded at the ${ending.at}: ${ending.message} (${ending.code})`;
  throw blame === 'caller'
    ? new CommandError(said, 'yours', 'correct --key, --run, --environment or --item')
    : new CommandError(said, 'the fleet', 'fix what it says; nothing was played');
}

async function playBursts(world: LoadWorld, burst: BurstWorld, seen: Seeing): Promise<void> {
  const { options, clock } = world;
  const progress = setInterval(() => world.say(progressLine(burst, seen)), progressMs);
  try {
    for (let wave = 1; wave <= options.waves && !burst.stopping.aborted; wave += 1) {
      const planned = planBurst(wave, options);
      if (options.announce !== undefined) {
        await announceRows(world, burst.target, planned);
        await clock.sleep(options.announce * 1000, burst.stopping);
      }
      await playBurst(planned, options.atOnce ?? options.rollouts, burst, (one) => seen.played.push(one));
    }
  } finally {
    clearInterval(progress);
  }
}

/** Where it is refused the burst is played all the same: then it shows what it costs to come unannounced. */
async function announceRows(
  { say }: LoadWorld,
  target: Target,
  planned: readonly BurstRollout[],
): Promise<void> {
  const rows = planned.map(({ script }) => script.item);
  await announce(target, rows).catch((error: unknown) =>
    say(visibleLine(`the burst could not be announced: ${String(error)}`)),
  );
}

/** For warm and cold only; a fleet that does not say is no sin. */
async function startsOf({ url, key, run }: Target) {
  return openFleetView(url, key, run)
    .rollouts()
    .catch(() => null);
}

function progressLine({ clock, startMs }: BurstWorld, { played, tries }: Seeing): string {
  const seconds = Math.round((clock.monotonicMs() - startMs) / 1000);
  const other = tries.filter(({ status }) => !isSuccess(status)).length;
  return `${String(seconds).padStart(5)} s  ${played.length} rollouts ended, ${tries.length} answers, ${other} of them other than 200`;
}
