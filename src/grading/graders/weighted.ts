import type { EvaluatePart, Evaluation, Leaf, Scored } from './evaluation.ts';

/** The mean of the parts by weight, so that weights need not add up to 1. One discarded part discards the whole. */
export async function gradeByWeights(grader: Leaf<'weighted'>, evaluate: EvaluatePart): Promise<Evaluation> {
  const parts: { readonly weight: number; readonly scored: Scored }[] = [];
  for (const part of grader.parts) {
    const scored = await evaluate(part.grader);
    if (scored.kind === 'discarded') return scored;
    parts.push({ weight: part.weight, scored });
  }
  const total = parts.reduce((sum, { weight }) => sum + weight, 0);
  const score = parts.reduce((sum, { weight, scored }) => sum + weight * scored.score, 0) / total;
  const detail = parts.map(({ weight, scored }) => ({ weight, ...scored.detail }));
  const suspected = parts.find(({ scored }) => scored.suspected !== null)?.scored.suspected ?? null;
  return { kind: 'scored', score, detail: { kind: 'weighted', score, parts: detail }, suspected };
}
