import { Failure } from '#src/failure/failure.ts';
import type { Grader, OnBad, Surcharge } from '#src/model/grader.ts';
import type {
  CommandGrade,
  EvaluatePart,
  Evaluation,
  GradingContext,
  Leaf,
  Scored,
  Unattached,
} from './evaluation.ts';
import { gradeByCalls } from './calls.ts';
import { gradeBySet } from './set.ts';
import { gradeByText } from './text.ts';
import type { Suspected } from '#src/failure/verdict.ts';
import type { Judged } from '#src/ports/judge.ts';

/**
 * Scores a rollout by its environment's grader: kinds that only compare stand in files of their own, those that ask or
 * put parts together stand below, each with what its score may mean.
 *
 * What the model wrote can only lower its score; what is missing in the row is `item_missing`, and a score that is no
 * finite number is `grader_failed`. Parts run one after another, because those that run commands share the rollout's sandbox.
 */
export async function evaluate(grader: Grader, context: GradingContext): Promise<Evaluation> {
  const evaluation = await evaluateKind(grader, context);
  if (evaluation.kind === 'scored' && !Number.isFinite(evaluation.score)) {
    throw new Failure(
      'grader_failed',
      `the ${grader.kind} grader gave ${evaluation.score}, which is no finite number`,
      {
        evidence: { grader: grader.kind, score: String(evaluation.score) },
      },
    );
  }
  return evaluation;
}

async function evaluateKind(grader: Grader, context: GradingContext): Promise<Evaluation> {
  const evaluatePart = (part: Grader) => evaluate(part, context);
  switch (grader.kind) {
    case 'none':
      throw new Failure('grader_failed', 'this environment has no grader, and nobody brought a score');
    case 'f1':
    case 'recall':
      return gradeBySet(grader, context);
    case 'text':
      return gradeByText(grader, context);
    case 'command':
      return gradeByCommand(grader, await context.runCommand(grader));
    case 'http':
      return gradeByJudge(grader, await context.askJudge(grader));
    case 'gate':
      return gradeByGate(grader, evaluatePart);
    case 'lowest':
      return gradeByLowest(grader, evaluatePart);
    case 'weighted':
      return gradeByWeights(grader, evaluatePart);
    case 'penalty':
      return gradeByPenalty(grader, evaluatePart, context);
    case 'calls':
      return gradeByCalls(grader, context.item, await context.story());
  }
}

/** A check passes with a full score; floating sums of weights may miss 1 by this much. */
const fullScore = 1 - 1e-9;

/** All checks must pass, in order; then the score is that of its grader. The first that does not pass makes it 0. */
async function gradeByGate(grader: Leaf<'gate'>, evaluatePart: EvaluatePart): Promise<Evaluation> {
  let suspected: Suspected | null = null;
  for (const [index, check] of grader.all.entries()) {
    const checked = await evaluatePart(check);
    if (checked.kind === 'discarded') return checked;
    suspected ??= checked.suspected;
    if (checked.score < fullScore) {
      const reason = `check ${index + 1} of ${grader.all.length} did not pass`;
      const detail = { kind: 'gate', score: 0, stopped_at: index, check: checked.detail, reason };
      return { kind: 'scored', score: 0, detail, suspected };
    }
  }
  const graded = await evaluatePart(grader.grader);
  if (graded.kind === 'discarded') return graded;
  const reason = 'every check passed';
  const detail = { kind: 'gate', score: graded.score, passed: graded.detail, reason };
  return { ...graded, detail, suspected: suspected ?? graded.suspected };
}

/** All are asked, also after a zero: two judges of which one fails must not give the other's score. */
async function gradeByLowest(grader: Leaf<'lowest'>, evaluatePart: EvaluatePart): Promise<Evaluation> {
  const scores: Scored[] = [];
  for (const part of grader.of) {
    const scored = await evaluatePart(part);
    if (scored.kind === 'discarded') return scored;
    scores.push(scored);
  }
  const score = Math.min(...scores.map((scored) => scored.score));
  const parts = scores.map(({ detail }) => detail);
  const suspected = scores.find((scored) => scored.suspected !== null)?.suspected ?? null;
  const reason = `the lowest of ${parts.length} scores`;
  return { kind: 'scored', score, detail: { kind: 'lowest', score, parts, reason }, suspected };
}

/** The mean of the parts by weight, so that weights need not add up to 1. One discarded part discards the whole. */
async function gradeByWeights(grader: Leaf<'weighted'>, evaluatePart: EvaluatePart): Promise<Evaluation> {
  const parts: { readonly weight: number; readonly scored: Scored }[] = [];
  for (const part of grader.parts) {
    const scored = await evaluatePart(part.grader);
    if (scored.kind === 'discarded') return scored;
    parts.push({ weight: part.weight, scored });
  }
  const total = parts.reduce((sum, { weight }) => sum + weight, 0);
  const score = parts.reduce((sum, { weight, scored }) => sum + weight * scored.score, 0) / total;
  const detail = parts.map(({ weight, scored }) => ({ weight, ...scored.detail }));
  const suspected = parts.find(({ scored }) => scored.suspected !== null)?.scored.suspected ?? null;
  const reason = `the mean of ${parts.length} parts by weight`;
  return { kind: 'scored', score, detail: { kind: 'weighted', score, parts: detail, reason }, suspected };
}

/**
 * Takes `each` off the score for every tool call beyond the free ones, and for every `per` of time and bytes; a score already
 * below the floor stays.
 */
async function gradeByPenalty(
  grader: Leaf<'penalty'>,
  evaluatePart: EvaluatePart,
  { toolCalls, costs }: Pick<GradingContext, 'toolCalls' | 'costs'>,
): Promise<Evaluation> {
  const before = await evaluatePart(grader.grader);
  if (before.kind === 'discarded') return before;
  const beyond = Math.max(0, toolCalls - grader.freeCalls);
  const spent = grader.time || grader.bytes ? await costs() : null;
  const surcharge = spent ? chargeOf(spent.timeMs, grader.time) + chargeOf(spent.bytes, grader.bytes) : 0;
  const floor = Math.min(grader.floor, before.score);
  const score = Math.max(floor, before.score - beyond * grader.each - surcharge);
  const seen = spent ? { time_ms: spent.timeMs, background_ms: spent.backgroundMs, bytes: spent.bytes } : {};
  const reason = reasonOfPenalty(before.score, score, beyond, surcharge);
  const told = { tool_calls: toolCalls, beyond, ...seen, before: before.detail, reason };
  const detail = { kind: 'penalty', score, ...told };
  return { ...before, score, detail };
}

function reasonOfPenalty(before: number, after: number, beyond: number, surcharge: number): string {
  if (before === after) return 'nothing was taken off';
  const calls = beyond > 0 ? [`${beyond} calls beyond the free ones`] : [];
  const costs = surcharge > 0 ? [`${round(surcharge)} for time and bytes`] : [];
  return `${round(before - after)} taken off: ${[...calls, ...costs].join(', ')}`;
}

const round = (amount: number): number => Math.round(amount * 10_000) / 10_000;

const chargeOf = (spent: number, surcharge: Surcharge | undefined): number =>
  surcharge ? (Math.max(0, spent - surcharge.free) / surcharge.per) * surcharge.each : 0;

/**
 * The score a grading command gave, or what the environment says its bad ending is worth. The policy shared a sandbox
 * with the command and may have broken it to escape a low score, so each such use is marked.
 */
function gradeByCommand(leaf: Leaf<'command'>, grade: CommandGrade): Evaluation {
  if (grade.kind === 'scored') {
    const where = grade.where === undefined ? '' : `, ${grade.where}`;
    const detail = { kind: 'command', score: grade.score, reason: `by its score file${where}` };
    return { kind: 'scored', score: grade.score, detail, suspected: null };
  }
  const worth = worthOf(leaf, grade.how);
  // What is not there as it is named says by itself whose doing that is.
  const suspected = grade.how === 'artifacts' ? null : 'command';
  if (worth === 'discard') return { kind: 'discarded', suspected: 'command', reason: grade.reason };
  const detail = { kind: 'command', score: worth, ended: grade.how, reason: grade.reason };
  return { kind: 'scored', score: worth, detail, suspected };
}

function worthOf(leaf: Leaf<'command'>, how: Extract<CommandGrade, { kind: 'bad' }>['how']): OnBad {
  switch (how) {
    case 'exit':
      return leaf.onExit;
    case 'timeout':
      return leaf.onTimeout;
    case 'out_of_memory':
      return leaf.onOutOfMemory;
    case 'broken':
      return leaf.onBroken;
    case 'artifacts':
      return leaf.fresh?.onArtifacts ?? leaf.onBroken;
  }
}

/** What a judge says beside its score may tell the reference, so it is for the event log and not for the trainer. */
export const byTheJudge = 'by the judge';

/**
 * The score a judge gave, or what the environment says a refused answer is worth. The policy chooses its answer, and so
 * whether a judge refuses it; each such use is marked.
 */
function gradeByJudge({ onRefused, attach }: Leaf<'http'>, judged: Judged | Unattached): Evaluation {
  if (judged.kind === 'unattached') {
    const detail = { kind: 'http', score: attach?.onBad ?? 0, ended: 'unattached', reason: judged.reason };
    return { kind: 'scored', score: detail.score, detail, suspected: 'command' };
  }
  if (judged.kind === 'scored') {
    const { score } = judged;
    const detail = { kind: 'http', score, reason: byTheJudge };
    return { kind: 'scored', score, detail, suspected: null };
  }
  const { reason } = judged;
  if (onRefused === 'discard') return { kind: 'discarded', suspected: 'answer', reason };
  const detail = { kind: 'http', score: onRefused, ended: 'refused', reason };
  return { kind: 'scored', score: onRefused, detail, suspected: 'answer' };
}
