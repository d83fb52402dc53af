import { seededRandom } from '#demo/seeded-random.ts';
import type { Random } from '#src/ports/random.ts';
import {
  arrivalMs,
  drawArrival,
  drawGroupSize,
  groupSizes,
  isAsynchronous,
  stepGapMs,
} from './load-model/bursts.ts';
import { happens } from './load-model/distributions.ts';
import { drawRollout } from './load-model/rollouts.ts';
import { type Mischief, mischiefs, type Work } from './trainer/evidence.ts';
import { playRollout, type PlayWorld, type Script } from './trainer/play-rollout.ts';
import type { RolloutTruth } from './trainer/truth.ts';

type PlannedRollout = { readonly script: Script; readonly afterMs: number };

export type WavePlan = {
  readonly rollouts: readonly PlannedRollout[];
  /** From the end of the last rollout to the next wave; null where a rollout that ends is replaced at once. */
  readonly gapMs: number | null;
};

/** All rollouts of one training step, as they ended. */
export type Wave = readonly RolloutTruth[];

/** The same seed, number and options plan the same wave. */
export function planWave(
  number: number,
  { seed, rollouts, speed }: { readonly seed: string; readonly rollouts: number; readonly speed: number },
): WavePlan {
  const random = seededRandom(`${seed}/wave ${number}`);
  const arrival = drawArrival(random);
  const groups = groupSizes(rollouts, drawGroupSize(random));
  const planned = groups.flatMap((copies, group) =>
    Array.from({ length: copies }, (_, copy) => {
      const task = `wave-${number}-task-${group}`;
      const script = scriptOf(random, speed, `trace_${number}_${group}_${copy}`, task);
      return { script, afterMs: arrivalMs(random, arrival) / speed };
    }),
  );
  return { rollouts: planned, gapMs: isAsynchronous(random) ? null : stepGapMs(random, 'tools') / speed };
}

/**
 * Plays wave after wave until the time is up, and resolves with all of them when the last rollout has ended. Those that
 * had not begun by then are not played.
 */
export async function playWaves(
  planOf: (number: number) => WavePlan,
  world: PlayWorld,
  tell: (truth: RolloutTruth) => void,
): Promise<readonly Wave[]> {
  const waves: Promise<readonly (RolloutTruth | null)[]>[] = [];
  // Of an asynchronous wave: who must end before the next wave's rollout of the same number begins.
  let places: readonly Promise<unknown>[] = [];
  for (let number = 1; !world.stopping.aborted; number += 1) {
    const { rollouts, gapMs } = planOf(number);
    const playing = rollouts.map((planned, place) =>
      playPlanned(planned, places[place] ?? null, world, tell),
    );
    waves.push(Promise.all(playing));
    places = gapMs === null ? playing : [];
    await (gapMs === null ? Promise.race(playing) : Promise.all(playing));
    await world.clock.sleep(gapMs ?? 0, world.stopping);
  }
  const played = await Promise.all(waves);
  return played.map((wave) => wave.filter((truth) => truth !== null));
}

async function playPlanned(
  { script, afterMs }: PlannedRollout,
  place: Promise<unknown> | null,
  world: PlayWorld,
  tell: (truth: RolloutTruth) => void,
): Promise<RolloutTruth | null> {
  await (place ?? world.clock.sleep(afterMs, world.stopping));
  if (world.stopping.aborted) return null;
  const truth = await playRollout(script, world);
  tell(truth);
  return truth;
}

/** A policy that breaks what it can does so about once in every rollout; the load model has no row for it. */
const mischiefShare = 0.03;

const kinds = Object.keys(mischiefs) as readonly Mischief[];

/**
 * One rollout of the load model as it will be played: every time divided by `speed`, commands that sleep instead of
 * compute, and now and then one that turns on its own sandbox.
 */
function scriptOf(random: Random, speed: number, rollout: string, task: string): Script {
  const { steps, cancelled, client } = drawRollout(random);
  return {
    rollout,
    item: { id: task },
    cancelled,
    client: { ...client, timeoutMs: Math.round(client.timeoutMs / speed) },
    steps: steps.map(({ thinkMs, calls }) => ({
      thinkMs: thinkMs / speed,
      calls: calls.map(({ durationMs, outputBytes }): Work => {
        const mischief = happens(random, mischiefShare) ? drawKind(random) : null;
        return { sleepMs: durationMs / speed, outputBytes, mischief };
      }),
    })),
  };
}

const drawKind = (random: Random): Mischief | null => kinds[Math.floor(random.next() * kinds.length)] ?? null;
