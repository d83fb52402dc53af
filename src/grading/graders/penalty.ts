import type { EvaluatePart, Evaluation, Leaf } from './evaluation.ts';

/** Takes `each` off the score for every tool call beyond the free ones; a score already below the floor stays. */
export async function gradeByPenalty(
  grader: Leaf<'penalty'>,
  evaluate: EvaluatePart,
  toolCalls: number,
): Promise<Evaluation> {
  const before = await evaluate(grader.grader);
  if (before.kind === 'discarded') return before;
  const beyond = Math.max(0, toolCalls - grader.freeCalls);
  const floor = Math.min(grader.floor, before.score);
  const score = Math.max(floor, before.score - beyond * grader.each);
  const detail = { kind: 'penalty', score, tool_calls: toolCalls, beyond, before: before.detail };
  return { ...before, score, detail };
}
