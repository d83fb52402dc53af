import type { Random } from '#src/ports/random.ts';
import { drawBetween, drawOne } from './distributions.ts';

/*
 * How rollouts arrive: rows 1 to 6 of the load model. Times are those of a real training job, in milliseconds; whoever
 * plays them divides by the speed.
 */

/** Row 1: rollouts in a burst. The weights are assumed; the most common step opens 512. */
export function drawBurstSize(random: Random): number {
  return drawOne(random, [
    [64, 0.1],
    [128, 0.2],
    [256, 0.25],
    [512, 0.3],
    [1024, 0.15],
  ]);
}

/** Row 2: copies of one task. */
export function drawGroupSize(random: Random): number {
  return drawOne(random, [
    [8, 0.6],
    [16, 0.25],
    [32, 0.15],
  ]);
}

/** Row 3: a training burst has one task for each group; the last group may be short. Returns the size of each. */
export function groupSizes(burst: number, group: number): readonly number[] {
  return Array.from({ length: Math.ceil(burst / group) }, (_, index) =>
    Math.min(group, burst - index * group),
  );
}

/** Row 4: how the rollouts of a burst are spread over time. */
export const arrivals = ['spike', 'observed', 'polite'] as const;
export type Arrival = (typeof arrivals)[number];

export function drawArrival(random: Random): Arrival {
  return drawOne(random, [
    ['spike', 0.5],
    ['observed', 0.3],
    ['polite', 0.2],
  ]);
}

/** Row 4: when one rollout of a burst begins, after the burst's own beginning. */
export function arrivalMs(random: Random, arrival: Arrival): number {
  switch (arrival) {
    case 'spike':
      return drawBetween(random, 0, 250);
    case 'observed':
      return observedMs(random);
    case 'polite':
      return drawBetween(random, 0, drawBetween(random, 10_000, 20_000));
  }
}

/** Over six seconds; two fifths are added to one of them, which then has half of all: three times the mean. */
function observedMs(random: Random): number {
  return random.next() < 0.4 ? drawBetween(random, 2_000, 3_000) : drawBetween(random, 0, 6_000);
}

const minuteMs = 60_000;

/** Row 5: between two steps; seven minutes where tools are used, twenty for software tasks, and a fifth to and fro. */
export function stepGapMs(random: Random, kind: 'tools' | 'software'): number {
  return (kind === 'tools' ? 7 : 20) * minuteMs * drawBetween(random, 0.8, 1.2);
}

/** Row 6: an asynchronous trainer has no barrier; half of all are taken to be so. */
export function isAsynchronous(random: Random): boolean {
  return random.next() < 0.5;
}
