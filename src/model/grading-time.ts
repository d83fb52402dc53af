import { type Environment, isOpenTemplate } from './environment.ts';
import { type GraderLeaf, graderLeaves } from './grader-leaves.ts';
import { aroundFreshMs, aroundGraderMs } from './grader.ts';

type Graded = Pick<Environment, 'grader' | 'graderTemplate' | 'demands'>;

/**
 * How long a grader may take when each of its parts takes all of its time. Parts run one after another. A judge that
 * refuses is asked for the harmless answer as often again.
 */
export function longestGradeMs({ grader, ...graded }: Graded): number {
  const freshMs = aroundFreshMs + startOfRowsMs(graded);
  return sum(graderLeaves(grader).map((leaf) => longestMs(leaf, freshMs)));
}

/** A grader's sandbox that rows make is never warm: a start takes its timeout to be accepted, and again to become ready. */
function startOfRowsMs({ graderTemplate, demands }: Omit<Graded, 'grader'>): number {
  if (graderTemplate === undefined) return 0;
  return isOpenTemplate(graderTemplate) || demands !== undefined ? 2 * graderTemplate.startTimeoutMs : 0;
}

function longestMs(leaf: GraderLeaf, freshMs: number): number {
  switch (leaf.kind) {
    case 'none':
    case 'f1':
    case 'recall':
    case 'text':
    case 'calls':
      return 0;
    case 'command':
      return leaf.timeoutMs + aroundGraderMs + (leaf.fresh === undefined ? 0 : freshMs);
    case 'http':
      return longestJudgeMs(leaf) * (leaf.guard === undefined ? 1 : 2);
  }
}

/** All tries with an answer, and as many with the harmless one. Canaries are asked at the same time, and take as long again. */
export const longestJudgeMs = ({
  timeoutMs,
  retries,
}: Pick<Extract<GraderLeaf, { readonly kind: 'http' }>, 'timeoutMs' | 'retries'>): number =>
  timeoutMs * (retries + 1) * 2;

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);
