import type { Random } from '#src/ports/random.ts';
import {
  clip,
  drawBetween,
  drawLognormal,
  drawOne,
  drawWhole,
  happens,
  type Lognormal,
} from './distributions.ts';

/*
 * What one rollout does: rows 7 to 11, 14, 17 and 18 of the load model. Times are those of a real training job, in
 * milliseconds; whoever plays them divides by the speed.
 */

export type CallPlan = {
  /** Infinity: it never returns. */
  readonly durationMs: number;
  /** Infinity: it prints until it is stopped. */
  readonly outputBytes: number;
};

/** `calls` go out at the same time, after the model has thought. */
export type StepPlan = { readonly thinkMs: number; readonly calls: readonly CallPlan[] };

export type RolloutPlan = {
  readonly steps: readonly StepPlan[];
  /** Given up before its grade. */
  readonly cancelled: boolean;
  readonly client: ClientHabits;
};

/** Row 18. */
export type ClientHabits = {
  readonly timeoutMs: number;
  readonly jitter: boolean;
  /** Whether a retry carries a call id of its own; nobody has seen a platform's live wire, so both are played. */
  readonly freshIds: boolean;
};

/** Row 7. */
const callsPerRollout: Lognormal = { median: 35, sigma: 0.5 };
const mostCalls = 100;

/** Row 8. */
const thinkingMs: Lognormal = { median: 5_700, sigma: 1.06 };

/** Row 9: file and search, shell, tests, install. */
const durationsMs = [
  [{ median: 120, sigma: 0.9 }, 0.58],
  [{ median: 800, sigma: 1 }, 0.24],
  [{ median: 12_000, sigma: 0.9 }, 0.14],
  [{ median: 60_000, sigma: 1 }, 0.04],
] as const;
export const longestMs = 480_000;

/** Row 10. */
const hungShare = 0.003;

/** Row 14: a median of 1 KB with a 99th percentile of 200 KB is this sigma: ln(200) / 2.326. */
const outputBytes: Lognormal = { median: 1_024, sigma: 2.28 };
const hugeShare = 0.001;
const hugeBytes = [10 * 1024 ** 2, 64 * 1024 ** 2] as const;
const unboundedShare = 0.000_01;

/** Row 17. */
const cancelledShare = 0.1;

export function drawRollout(random: Random): RolloutPlan {
  const cancelled = happens(random, cancelledShare);
  const calls = drawCallCount(random);
  const made = cancelled ? drawWhole(random, 1, calls) : calls;
  return { steps: drawSteps(random, made), cancelled, client: drawClient(random) };
}

export function drawCallCount(random: Random): number {
  return Math.round(clip(drawLognormal(random, callsPerRollout), 1, mostCalls));
}

function drawSteps(random: Random, calls: number): readonly StepPlan[] {
  const steps: StepPlan[] = [];
  for (let left = calls; left > 0; left -= steps.at(-1)?.calls.length ?? 0) {
    // Row 11: the first step after training goes wide.
    const width = Math.min(left, steps.length === 0 ? drawFirstWidth(random) : drawWidth(random));
    steps.push({
      thinkMs: drawLognormal(random, thinkingMs),
      calls: Array.from({ length: width }, () => drawCall(random)),
    });
  }
  return steps;
}

/** Row 11. */
function drawWidth(random: Random): number {
  return happens(random, 0.85) ? 1 : drawWhole(random, 2, 4);
}

const drawFirstWidth = (random: Random): number => (happens(random, 0.5) ? 8 : drawWidth(random));

export function drawCall(random: Random): CallPlan {
  return { durationMs: drawDurationMs(random), outputBytes: drawOutputBytes(random) };
}

function drawDurationMs(random: Random): number {
  if (happens(random, hungShare)) return Infinity;
  return Math.min(longestMs, drawLognormal(random, drawOne<Lognormal>(random, durationsMs)));
}

function drawOutputBytes(random: Random): number {
  if (happens(random, unboundedShare)) return Infinity;
  if (happens(random, hugeShare)) return Math.round(drawBetween(random, ...hugeBytes));
  return Math.round(drawLognormal(random, outputBytes));
}

/** Row 18; a quarter of the clients are taken to repeat under a new id. */
export function drawClient(random: Random): ClientHabits {
  return {
    timeoutMs: drawBetween(random, 60_000, 300_000),
    jitter: happens(random, 0.5),
    freshIds: happens(random, 0.25),
  };
}
