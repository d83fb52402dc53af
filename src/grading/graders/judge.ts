import type { Judged } from '../../ports/judge.ts';
import type { Evaluation, Leaf } from './evaluation.ts';

/**
 * The score a judge gave, or what the environment says a refused answer is worth. The policy chooses its answer, and so
 * whether a judge refuses it; each such use is marked.
 */
export function gradeByJudge({ onRefused }: Leaf<'http'>, judged: Judged): Evaluation {
  if (judged.kind === 'scored') {
    const { score } = judged;
    return { kind: 'scored', score, detail: { kind: 'http', score }, suspected: null };
  }
  const { reason } = judged;
  if (onRefused === 'discard') return { kind: 'discarded', suspected: 'answer', reason };
  const detail = { kind: 'http', score: onRefused, ended: 'refused', reason };
  return { kind: 'scored', score: onRefused, detail, suspected: 'answer' };
}
