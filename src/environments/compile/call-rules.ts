import type { Environment } from '#src/model/environment.ts';
import type { CallSelector } from '#src/model/grader.ts';
import { type GraderLeaf, graderLeaves } from '#src/model/grader-leaves.ts';
import type { Report } from '../mistakes.ts';

/** A grader that waits for calls of a tool, or an argument, that nobody has gives 0 for ever; so that is a mistake. */
export function checkCallsGraded(
  { grader, tools }: Pick<Environment, 'grader' | 'tools'>,
  report: Report,
): void {
  for (const { tool, argument } of graderLeaves(grader).flatMap(selectorsOf)) {
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

function selectorsOf(leaf: GraderLeaf): readonly CallSelector[] {
  if (leaf.kind !== 'calls') return [];
  return leaf.asks === 'opened' ? leaf.tools : [...leaf.edits, ...leaf.checks];
}
