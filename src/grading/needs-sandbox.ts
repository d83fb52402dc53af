import type { Grader } from '../model/grader.ts';

/** Whether some part of a grader runs inside the rollout's sandbox. */
export function needsSandbox(grader: Grader): boolean {
  switch (grader.kind) {
    case 'command':
      return true;
    case 'gate':
      return [...grader.all, grader.grader].some(needsSandbox);
    case 'weighted':
      return grader.parts.some((part) => needsSandbox(part.grader));
    case 'penalty':
      return needsSandbox(grader.grader);
    case 'f1':
    case 'recall':
    case 'text':
    case 'http':
      return false;
  }
}
