import type { Environment } from './environment.ts';
import type { Grader } from './grader.ts';
import { gradersIn } from './grader-leaves.ts';

/**
 * Whether it has devices, a guarded judge, or the lowest score of several graders. Processes of the previous release do not know these: they
 * would believe a judge whose canaries prove it wrong. So it is published where they do not look, and they do not find it.
 */
export function isNewToPreviousRelease({ template, graderTemplate, grader }: Environment): boolean {
  const hasDevices = [template, graderTemplate].some((each) => each?.devices !== undefined);
  return hasDevices || gradersIn(grader).some(isNewGrader);
}

const isNewGrader = (grader: Grader): boolean =>
  grader.kind === 'lowest' || (grader.kind === 'http' && grader.guard !== undefined);
