import { aroundGraderMs } from '../../model/grader.ts';
import type { Grader } from '../../model/grader.ts';

/**
 * How long a grader may take when each of its parts takes all of its time. Parts run one after another. A judge that
 * refuses is asked for the harmless answer as often again.
 */
export function longestGradeMs(grader: Grader): number {
  switch (grader.kind) {
    case 'f1':
    case 'recall':
    case 'text':
      return 0;
    case 'command':
      return grader.timeoutMs + aroundGraderMs;
    case 'http':
      return grader.timeoutMs * (grader.retries + 1) * 2;
    case 'gate':
      return sum([...grader.all, grader.grader].map(longestGradeMs));
    case 'weighted':
      return sum(grader.parts.map((part) => longestGradeMs(part.grader)));
    case 'penalty':
      return longestGradeMs(grader.grader);
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);
