import canonicalize from 'canonicalize';
import { type Tool, type Environment, hasSessions } from '../model/environment.ts';
import type { Json, Item } from '../model/grader.ts';
import { fillPlaceholders, itemFieldOf } from '../model/placeholder.ts';
import type { BuiltinAction, ExecAction, QueryAction } from '../protocol/sandboxd/wire.ts';
import { isBrowserTool } from '../protocol/sandboxd/browser.ts';
import { isTerminalTool } from '../protocol/sandboxd/terminals.ts';
import { type ExposedItem, itemVariables, exposedItem } from './exposed-item.ts';
import type { ToolArguments } from './arguments.ts';

/**
 * What sandboxd is asked to do for a call whose arguments were checked. A value is a whole argv element or part of
 * one and never passes through a shell of ours; an optional argument that was not given is the empty text.
 */
export function actionOf(
  tool: Tool,
  args: ToolArguments,
  exposed: ExposedItem = {},
): ExecAction | BuiltinAction | QueryAction {
  if (tool.run.kind === 'index') return queryOf(tool.run, args, exposed);
  if (tool.run.kind === 'builtin') {
    const action = { kind: 'builtin', tool: tool.run.tool, arguments: flatArguments(args) } as const;
    const isSession = isTerminalTool(action.tool) || isBrowserTool(action.tool);
    return isSession ? { ...action, env: itemVariables(exposed) } : action;
  }
  const argv = tool.run.argv.map((element) =>
    fillPlaceholders(element, (name) => valueOf(name, args, exposed)),
  );
  return { kind: 'exec', argv, env: itemVariables(exposed), merge: true };
}

type Index = Extract<Tool['run'], { kind: 'index' }>;

/** Values are bound to the SQL by name; one that was not given is NULL. SQLite knows `:name` for a name, too, and so two of the same. */
const isParameterName = (name: string): boolean => /^[A-Za-z_]\w*$/.test(name);

function queryOf(run: Index, args: ToolArguments, exposed: ExposedItem): QueryAction {
  const values = Object.fromEntries([
    ...Object.entries(args)
      .filter(([name]) => isParameterName(name))
      .map(([name, value]) => [name, boundOf(value)] as const),
    ...Object.entries(exposed).map(([field, text]) => [itemParameter(field), text] as const),
  ]);
  return queryAction(run, values);
}

/** Whether each query of the tools could be asked; said before the first call, when nobody else can have broken one. */
export const queryChecks = (
  tools: Readonly<Record<string, Tool>>,
): readonly { readonly tool: string; readonly action: QueryAction }[] =>
  Object.values(tools).flatMap(({ name, run }) =>
    run.kind === 'index' ? [{ tool: name, action: { ...queryAction(run, {}), check: true } }] : [],
  );

/** Whether a terminal could be opened, and whether there is a browser, where the model may have them; also said before the first call. */
export const sessionChecks = (environment: Pick<Environment, 'tools'>): readonly BuiltinAction[] =>
  (['terminal', 'browser'] as const)
    .filter((kind) => hasSessions(environment, kind))
    .map((kind) => ({ kind: 'builtin', tool: `${kind}_check`, arguments: {} }));

function queryAction({ database, sql, each, none }: Index, values: QueryAction['values']): QueryAction {
  return { kind: 'query', database, sql, values, ...(each === null ? {} : { each }), none };
}

/** What an exposed field of the row is called in SQL. */
export const itemParameter = (field: string): string => `item_${field.replaceAll(/\W/g, '_')}`;

function boundOf(value: Json | undefined): string | number | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'boolean') return Number(value);
  return typeof value === 'number' ? value : textOf(value);
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

/**
 * The environment's setup for one task, in order, ready to run as the policy's user. Throws `Failure('item_missing')`
 * when the row lacks an exposed field, also where no command names it.
 */
export function setupCommands(
  environment: Pick<Environment, 'name' | 'expose' | 'setup'>,
  item: Item | null,
): readonly ExecAction[] {
  const exposed = exposedItem(environment, item);
  const env = itemVariables(exposed);
  const valueOf = (name: string) => exposed[itemFieldOf(name) ?? ''] ?? '';
  return environment.setup.commands.map((argv) => ({
    kind: 'exec',
    argv: argv.map((element) => fillPlaceholders(element, valueOf)),
    env,
  }));
}
