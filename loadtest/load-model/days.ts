import type { Random } from '#src/ports/random.ts';
import { drawBetween } from './distributions.ts';

/*
 * How often the machinery fails: rows 19 and 20 of the load model. What else belongs to a good day (0.5 % of creates
 * fail, 0.1 % of sandboxes are lost) is far less than what a saboteur does.
 */

/** Row 19. */
export const droppedConnectionShare = 0.01;

/** Row 20: on a bad day 5 to 15 % of a wave's sandboxes are lost at once, and at least one. */
export function lossesOfWave(random: Random, rollouts: number): number {
  return Math.max(1, Math.round(rollouts * drawBetween(random, 0.05, 0.15)));
}
