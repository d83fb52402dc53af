import type { Environment } from '../model/environment.ts';
import type { Json } from '../model/grader.ts';
import type { CallSummary } from '../ports/fleet/records.ts';
import { checkArguments, parseArguments } from '../tools/arguments.ts';
import type { Sample } from './graders/evaluation.ts';

/**
 * Ids of calls that the platform saw the model make and that never reached us: lost between the two, or forgotten here.
 * A job may have tools of other servers too, so only those of this environment count. One whose arguments are wrong
 * would have run nothing, whoever had it; a platform may answer it without us, and a model can make one whenever it
 * likes, so it counts for nothing: else it would be a way out of a bad rollout.
 */
export function unseenCalls(
  sample: Sample,
  tools: Environment['tools'],
  recorded: readonly CallSummary[],
): readonly string[] {
  const seen = new Set<string>(recorded.map((summary) => summary.call));
  return namedCalls(sample)
    .filter((call) => isOurs(call, tools) && !isRefusable(call, tools))
    .map(idOf)
    .filter((id) => !seen.has(id));
}

/** Arguments that are not told say nothing. */
function isRefusable(call: Json, tools: Environment['tools']): boolean {
  const name = fieldOf(fieldOf(call, 'function'), 'name');
  const given = fieldOf(fieldOf(call, 'function'), 'arguments');
  const tool = typeof name === 'string' && Object.hasOwn(tools, name) ? tools[name] : undefined;
  if (tool === undefined || given === null) return false;
  const parsed = parseArguments(given);
  return !parsed.ok || !checkArguments(tool, parsed.value).ok;
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
