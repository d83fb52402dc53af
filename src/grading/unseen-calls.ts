import type { Environment } from '../model/environment.ts';
import type { Json } from '../model/grader.ts';
import type { CallSummary } from '../ports/fleet/records.ts';
import type { Sample } from './graders/evaluate.ts';

/**
 * Ids of calls that the platform saw the model make and that never reached us: lost between the two, or forgotten here.
 * A job may have tools of other servers too, so only those of this environment count.
 */
export function unseenCalls(
  sample: Sample,
  tools: Environment['tools'],
  recorded: readonly CallSummary[],
): readonly string[] {
  const seen = new Set<string>(recorded.map((summary) => summary.call));
  return namedCalls(sample)
    .filter((call) => isOurs(call, tools))
    .map(idOf)
    .filter((id) => !seen.has(id));
}

/** What the platform says that the rollout called. */
export function namedCalls(sample: Sample): readonly Json[] {
  const calls = sample['output_tools'];
  return Array.isArray(calls) ? (calls as readonly Json[]) : [];
}

/** A call that names no tool may be anybody's, so it counts as ours. */
function isOurs(call: Json, tools: Environment['tools']): boolean {
  const name = fieldOf(fieldOf(call, 'function'), 'name');
  return typeof name !== 'string' || Object.hasOwn(tools, name);
}

/** Null where it has none: such a call can match none that we know. */
function idOf(call: Json): string {
  const id = fieldOf(call, 'id');
  return typeof id === 'string' ? id : 'without id';
}

function fieldOf(value: Json, name: string): Json {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? ((value as { readonly [key: string]: Json })[name] ?? null) : null;
}
