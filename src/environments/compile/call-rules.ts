import type { Environment } from '#src/model/environment.ts';
import type { CallSelector, CallsQuestion, Grader } from '#src/model/grader.ts';
import type { Report } from '../mistakes.ts';

/** A grader that waits for calls of a tool, or an argument, that nobody has gives 0 for ever; so that is a mistake. */
export function checkCallsGraded(
  { grader, tools }: Pick<Environment, 'grader' | 'tools'>,
  report: Report,
): void {
  for (const { tool, argument } of questionsIn(grader).flatMap(selectorsOf)) {
    const known = Object.hasOwn(tools, tool) ? tools[tool] : undefined;
    if (known === undefined && tool !== trainersOwn)
      report(['grader'], `looks at calls of ${tool}, which is no tool here`);
    const properties = known?.parameters['properties'];
    if (argument === undefined || typeof properties !== 'object' || properties === null) continue;
    if (!Object.hasOwn(properties, argument))
      report(['grader'], `looks at ${argument} of ${tool}, which is no parameter of it`);
  }
}

/** What the trainer runs by itself on the native face goes by this name. */
const trainersOwn = 'exec';

function selectorsOf(question: CallsQuestion): readonly CallSelector[] {
  return question.asks === 'opened' ? question.tools : [...question.edits, ...question.checks];
}

function questionsIn(grader: Grader): readonly CallsQuestion[] {
  switch (grader.kind) {
    case 'calls':
      return [grader];
    case 'gate':
      return [...grader.all, grader.grader].flatMap(questionsIn);
    case 'weighted':
      return grader.parts.flatMap((part) => questionsIn(part.grader));
    case 'penalty':
      return questionsIn(grader.grader);
    case 'none':
    case 'f1':
    case 'recall':
    case 'text':
    case 'command':
    case 'http':
      return [];
  }
}
