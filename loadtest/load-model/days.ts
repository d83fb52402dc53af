import type { Random } from '../../src/ports/random.ts';
import { drawBetween, happens } from './distributions.ts';

/*
 * How often the machinery fails: rows 19 and 20 of the load model.
 */

/** Row 19, a good day: shares of sandboxes. */
export const goodDay = { createFails: 0.005, firstConnectionDropped: 0.01, lostMidRun: 0.001 } as const;

/** Row 20, a bad day: 5 to 15 % of a wave's sandboxes are lost. */
export function drawWaveLoss(random: Random): number {
  return drawBetween(random, 0.05, 0.15);
}

/** How many of a wave's sandboxes are lost mid-run on such a day, at least one on a bad one. */
export function lossesOfWave(random: Random, rollouts: number, day: 'good' | 'bad'): number {
  if (day === 'bad') return Math.max(1, Math.round(rollouts * drawWaveLoss(random)));
  return Array.from({ length: rollouts }).filter(() => happens(random, goodDay.lostMidRun)).length;
}
