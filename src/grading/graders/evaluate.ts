import { Failure } from '../../failure/failure.ts';
import type { Grader } from '../../model/grader.ts';
import { gradeByCommand } from './command.ts';
import type { Evaluation, GradingContext } from './evaluation.ts';
import { gradeByGate } from './gate.ts';
import { gradeByJudge } from './judge.ts';
import { gradeByPenalty } from './penalty.ts';
import { gradeBySet } from './set.ts';
import { gradeByText } from './text.ts';
import { gradeByWeights } from './weighted.ts';

export type { CommandGrade, Evaluation, GradingContext, Leaf, Sample } from './evaluation.ts';

/**
 * Scores a rollout. What the model wrote can only lower its score; what is missing in the row is `item_missing`, and a
 * score that is no finite number is `grader_failed`. Parts run one after another, because those that run commands
 * share the rollout's sandbox.
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
    case 'weighted':
      return gradeByWeights(grader, evaluatePart);
    case 'penalty':
      return gradeByPenalty(grader, evaluatePart, context.toolCalls);
  }
}
