import type { Suspected } from '../../failure/suspected.ts';
import type { EvaluatePart, Evaluation, Leaf } from './evaluation.ts';

/** A check passes with a full score; floating sums of weights may miss 1 by this much. */
const fullScore = 1 - 1e-9;

/** All checks must pass, in order; then the score is that of its grader. The first that does not pass makes it 0. */
export async function gradeByGate(grader: Leaf<'gate'>, evaluate: EvaluatePart): Promise<Evaluation> {
  let suspected: Suspected | null = null;
  for (const [index, check] of grader.all.entries()) {
    const checked = await evaluate(check);
    if (checked.kind === 'discarded') return checked;
    suspected ??= checked.suspected;
    if (checked.score < fullScore) {
      const detail = { kind: 'gate', score: 0, stopped_at: index, check: checked.detail };
      return { kind: 'scored', score: 0, detail, suspected };
    }
  }
  const graded = await evaluate(grader.grader);
  if (graded.kind === 'discarded') return graded;
  const detail = { kind: 'gate', score: graded.score, passed: graded.detail };
  return { ...graded, detail, suspected: suspected ?? graded.suspected };
}
