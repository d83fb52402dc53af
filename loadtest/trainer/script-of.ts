import type { Random } from '#src/ports/random.ts';
import { happens } from '../load-model/distributions.ts';
import { drawRollout } from '../load-model/rollouts.ts';
import { type Mischief, mischiefs, type Work } from './evidence.ts';
import type { Script } from './play-rollout.ts';

/** A policy that breaks what it can does so about once in every rollout; the load model has no row for it. */
const mischiefShare = 0.03;

const kinds = Object.keys(mischiefs) as readonly Mischief[];

/**
 * One rollout of the load model as it will be played: every time divided by `speed`, commands that sleep instead of
 * compute, and now and then one that turns on its own sandbox.
 */
export function scriptOf(random: Random, speed: number, rollout: string, task: string): Script {
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
