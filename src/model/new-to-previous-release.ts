import type { Environment } from './environment.ts';
import type { Grader } from './grader.ts';

/**
 * Whether it has devices, a guarded judge, or the lowest score of several graders. Processes of the previous release do not know these: they
 * would believe a judge whose canaries prove it wrong. So it is published where they do not look, and they do not find it.
 */
export function isNewToPreviousRelease({ template, graderTemplate, grader }: Environment): boolean {
  const hasDevices = [template, graderTemplate].some((each) => each?.devices !== undefined);
  return hasDevices || isNewGrader(grader);
}

function isNewGrader(grader: Grader): boolean {
  switch (grader.kind) {
    case 'lowest':
      return true;
    case 'http':
      return grader.guard !== undefined;
    case 'gate':
      return [...grader.all, grader.grader].some(isNewGrader);
    case 'weighted':
      return grader.parts.some((part) => isNewGrader(part.grader));
    case 'penalty':
      return isNewGrader(grader.grader);
    case 'none':
    case 'f1':
    case 'recall':
    case 'text':
    case 'calls':
    case 'command':
      return false;
  }
}
