import canonicalize from 'canonicalize';
import type { Tool } from '../model/environment.ts';
import type { Json } from '../model/grader.ts';
import { fillPlaceholders, itemFieldOf } from '../model/placeholder.ts';
import type { BuiltinAction, ExecAction } from '../protocol/sandboxd/wire.ts';
import { type ExposedItem, itemVariables } from './exposed-item.ts';
import type { ToolArguments } from './arguments.ts';

/**
 * What sandboxd is asked to do for a call whose arguments were checked. A value is a whole argv element or part of
 * one and never passes through a shell of ours; an optional argument that was not given is the empty text.
 */
export function actionOf(
  tool: Tool,
  args: ToolArguments,
  exposed: ExposedItem = {},
): ExecAction | BuiltinAction {
  if (tool.run.kind === 'builtin') {
    return { kind: 'builtin', tool: tool.run.tool, arguments: flatArguments(args) };
  }
  const argv = tool.run.argv.map((element) =>
    fillPlaceholders(element, (name) => valueOf(name, args, exposed)),
  );
  return { kind: 'exec', argv, env: itemVariables(exposed) };
}

function valueOf(name: string, args: ToolArguments, exposed: ExposedItem): string {
  const field = itemFieldOf(name);
  return field === null ? textOf(args[name]) : (exposed[field] ?? '');
}

function textOf(value: Json | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : (canonicalize(value) ?? '');
}

/** Built-in tools take flat values only; their schemas admit nothing else, and a null counts as not given. */
function flatArguments(args: ToolArguments): BuiltinAction['arguments'] {
  const flat = Object.entries(args).filter(
    (entry): entry is [string, string | number | boolean] => typeof entry[1] !== 'object',
  );
  return Object.fromEntries(flat);
}
