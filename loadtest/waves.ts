import { seededRandom } from '../demo/seeded-random.ts';
import {
  arrivalMs,
  drawArrival,
  drawGroupSize,
  groupSizes,
  isAsynchronous,
  stepGapMs,
} from './load-model/bursts.ts';
import { playRollout } from './trainer/play-rollout.ts';
import type { PlayWorld, Script } from './trainer/play-rollout.ts';
import { scriptOf } from './trainer/script-of.ts';
import type { RolloutTruth } from './trainer/truth.ts';

export type Wave = {
  readonly rollouts: readonly { readonly script: Script; readonly afterMs: number }[];
  /** Until the next wave, when all of this one has ended; 0 where the trainer has no barrier. */
  readonly gapMs: number;
};

/** The same seed, number and options plan the same wave. */
export function planWave(
  number: number,
  { seed, rollouts, speed }: { readonly seed: string; readonly rollouts: number; readonly speed: number },
): Wave {
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
  return { rollouts: planned, gapMs: isAsynchronous(random) ? 0 : stepGapMs(random, 'tools') / speed };
}

/** Resolves when the last of the wave has ended. */
export function playWave(
  { rollouts }: Wave,
  world: PlayWorld,
  tell: (truth: RolloutTruth) => void,
): Promise<readonly RolloutTruth[]> {
  return Promise.all(
    rollouts.map(async ({ script, afterMs }) => {
      await world.clock.sleep(afterMs, world.stopping);
      const truth = await playRollout(script, world);
      tell(truth);
      return truth;
    }),
  );
}
