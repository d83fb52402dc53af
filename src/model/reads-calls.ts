import type { Grader } from './grader.ts';

/** Whether some part of a grader looks at what the rollout's calls said: only then is that kept. */
export function readsCalls(grader: Grader): boolean {
  switch (grader.kind) {
    case 'calls':
      return true;
    case 'command':
      return grader.readsRollout === true;
    case 'http':
      return grader.calls === true;
    case 'gate':
      return [...grader.all, grader.grader].some(readsCalls);
    case 'weighted':
      return grader.parts.some((part) => readsCalls(part.grader));
    case 'penalty':
      return readsCalls(grader.grader);
    case 'none':
    case 'f1':
    case 'recall':
    case 'text':
      return false;
  }
}
