import type { Post } from '#demo/trainer/http.ts';
import { trainingJob } from '#demo/trainer/training-job.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { Random } from '#src/ports/random.ts';
import { playRollout, type Script } from '../trainer/play-rollout.ts';
import type { RolloutTruth } from '../trainer/truth.ts';
import { nativeWords } from './native-words.ts';
import type { LoadOptions } from './options.ts';
import type { BurstRollout } from './plan-burst.ts';
import type { Target } from './target.ts';
import { telling, type Try } from './tries.ts';

export type BurstWorld = {
  readonly target: Target;
  readonly face: LoadOptions['face'];
  readonly tool: string;
  readonly clock: Clock;
  /** For ids and back-off. */
  readonly random: Random;
  /** The beginning of the load test on the monotonic clock. */
  readonly startMs: number;
  /** Aborted when no rollout may begin or go on; what runs is graded. */
  readonly stopping: AbortSignal;
  /** Aborted when nothing may be sent any more. */
  readonly stopped: AbortSignal;
  readonly post: { readonly kept: Post; readonly anew: Post };
  readonly tell: (one: Try) => void;
};

export type Played = BurstRollout & { readonly truth: RolloutTruth };

/** Plays a burst with at most so many at once; resolves when each that began has ended. */
export async function playBurst(
  burst: readonly BurstRollout[],
  atOnce: number,
  world: BurstWorld,
  tell: (played: Played) => void,
): Promise<void> {
  const beganMs = world.clock.monotonicMs();
  const waiting = burst.toSorted((a, b) => a.afterMs - b.afterMs).values();
  const lane = async () => {
    for (const planned of waiting) {
      const dueMs = beganMs + planned.afterMs - world.clock.monotonicMs();
      await world.clock.sleep(Math.max(0, dueMs), world.stopping);
      if (world.stopping.aborted) return;
      tell({ ...planned, truth: await playOne(planned.script, planned.opensAnew, world) });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}

/** One rollout; cut off where nothing may be sent any more, which is then nobody's failure. */
export async function playOne(script: Script, opensAnew: boolean, world: BurstWorld): Promise<RolloutTruth> {
  const { target, face, tool, clock, random, startMs, stopping } = world;
  const { url, key, run, environment } = target;
  const nowMs = () => clock.monotonicMs() - startMs;
  const post = telling(opensAnew ? world.post.anew : world.post.kept, script.rollout, nowMs, world.tell);
  const truth = await playRollout(script, {
    jobs: [trainingJob({ gatewayUrl: url, apiKey: key, run, environment, tools: [tool] })],
    post: face === 'rft' ? post : nativeWords(post, target),
    clock,
    random,
    startMs,
    stopping,
    onCalling: () => undefined,
  });
  const isCutOff = world.stopped.aborted && truth.ending.kind === 'discarded';
  return isCutOff ? { ...truth, ending: { kind: 'cancelled' } } : truth;
}
