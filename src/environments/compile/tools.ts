import type { JsonSchema, Tool } from '#src/model/environment.ts';
import { itemFieldOf, placeholdersIn } from '#src/model/placeholder.ts';
import type { Report } from '../mistakes.ts';
import { parseDurationMs } from '../quantities.ts';
import type { BuiltinToolName, ToolYaml } from '../schema/environment.ts';
import { splicedScript, unknownPlaceholder } from './command-rules.ts';
import { compileDependency, refuseDependency, type ToolInHand } from './dependency.ts';
import { indexTool } from './index-tool.ts';
import { compileParameters, parameterNames, textParameters } from './parameters.ts';

/** Two minutes for a command that nobody thought about; an hour is the longest any face lets one run. */
const defaultTimeout = '120s';
export const longestTimeoutMs = 3_600_000;

/** What the trainer's own commands are called in records, journals and metrics; no budget counts them. */
const trainersOwn = 'exec';

/** The tools of an environment by name, with descriptions and schemas filled in; a builtin brings its own, from the table below. */
export function compileTools(
  tools: Readonly<Record<string, ToolYaml>>,
  expose: readonly string[],
  report: Report,
): Readonly<Record<string, Tool>> {
  const compiled = Object.entries(tools).map(([name, yaml]) =>
    compileTool({ name, yaml, place: ['tools', name], expose, report }),
  );
  return Object.fromEntries(compiled.map((tool) => [tool.name, tool]));
}

function compileTool(inHand: ToolInHand): Tool {
  const { name, yaml, place, report } = inHand;
  if (name === trainersOwn) {
    report(
      place,
      "is what a trainer's own commands are called, which no budget counts; name the tool otherwise",
    );
  }
  if ([yaml.command, yaml.builtin, yaml.index].filter((way) => way !== undefined).length !== 1) {
    report(place, 'must have either a command or a builtin, or an index');
  }
  const timeoutMs = parseDurationMs(yaml.timeout ?? defaultTimeout);
  if (timeoutMs > longestTimeoutMs) report([...place, 'timeout'], 'must be at most 1h');
  if (yaml.index !== undefined) return indexTool(inHand, yaml.index, timeoutMs);
  return yaml.builtin === undefined
    ? commandTool(inHand, timeoutMs)
    : builtinTool(inHand, yaml.builtin, timeoutMs);
}

function builtinTool(inHand: ToolInHand, builtin: BuiltinToolName, timeoutMs: number): Tool {
  const { name, yaml, place, report } = inHand;
  if (yaml.parameters !== undefined)
    report([...place, 'parameters'], 'is fixed for a builtin tool; leave it out');
  refuseDependency(inHand, 'a builtin tool depends on nothing outside of its sandbox');
  const { description, parameters } = builtinTools[builtin];
  const run: Tool['run'] =
    builtin === 'shell'
      ? { kind: 'command', argv: ['sh', '-c', '{command}'], infrastructureExits: [] }
      : { kind: 'builtin', tool: builtin };
  return { name, description: yaml.description ?? description, parameters, timeoutMs, run };
}

function commandTool(inHand: ToolInHand, timeoutMs: number): Tool {
  const { name, yaml } = inHand;
  const argv = yaml.command ?? [];
  const parameters = parametersOf(inHand, argv);
  checkCommand(inHand, argv, parameters);
  return {
    name,
    description: yaml.description ?? `Runs ${name} in the workspace and returns its output. ${freshProcess}`,
    parameters,
    timeoutMs,
    run: { kind: 'command', argv, infrastructureExits: [], ...compileDependency(inHand) },
  };
}

const freshProcess = 'Each call is a fresh process: files stay, nothing else carries over.';

/** Where the author declares none, every placeholder of the command is a required text. */
function parametersOf({ yaml, place, report }: ToolInHand, argv: readonly string[]): JsonSchema {
  if (yaml.parameters !== undefined)
    return compileParameters(yaml.parameters, [...place, 'parameters'], report);
  const names = argv.flatMap(placeholdersIn).filter((name) => itemFieldOf(name) === null);
  return textParameters([...new Set(names)]);
}

function checkCommand(
  { place, expose, report }: ToolInHand,
  argv: readonly string[],
  parameters: JsonSchema,
): void {
  const rules = [unknownPlaceholder(argv, parameterNames(parameters), expose), splicedScript(argv)];
  for (const broken of rules) if (broken !== null) report([...place, 'command'], broken);
}

type BuiltinDefinition = { readonly description: string; readonly parameters: JsonSchema };

const object = (properties: JsonSchema, required: readonly string[]): JsonSchema => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});

const path = (of: string): JsonSchema => ({
  type: 'string',
  description: `${of}, absolute or relative to the workspace.`,
});

const lineNumber = (which: string): JsonSchema => ({
  type: 'integer',
  minimum: 1,
  description: `${which} line to read, counted from 1.`,
});

/** What the model is told of the built-in tools, and the arguments that sandboxd understands. */
const builtinTools: Readonly<Record<BuiltinToolName, BuiltinDefinition>> = {
  shell: {
    description:
      'Runs a command with `sh -c` and returns its output. Each call is a fresh shell in the workspace: ' +
      'files stay, but `cd`, variables and background jobs of an earlier call do not carry over.',
    parameters: object({ command: { type: 'string', description: 'The command line to run.' } }, ['command']),
  },
  read_file: {
    description: 'Returns the text of a file, or of some of its lines.',
    parameters: object(
      { path: path('The file'), start_line: lineNumber('First'), end_line: lineNumber('Last') },
      ['path'],
    ),
  },
  write_file: {
    description: 'Writes a text file, replacing what is there, and creates the folders it needs.',
    parameters: object(
      { path: path('The file'), content: { type: 'string', description: 'The whole new text.' } },
      ['path', 'content'],
    ),
  },
  list_files: {
    description: 'Lists the files and folders below a folder.',
    parameters: object(
      {
        path: path('The folder'),
        depth: { type: 'integer', minimum: 1, description: 'How many levels down to list; 1 if left out.' },
      },
      [],
    ),
  },
  search: {
    description: 'Finds the lines that contain a text in the files below a folder, as path:line: text.',
    parameters: object(
      {
        query: { type: 'string', minLength: 1, description: 'The text to look for.' },
        path: path('The folder or file to search'),
        glob: { type: 'string', description: 'Only files whose name matches, for example *.ts.' },
        regex: { type: 'boolean', description: 'Whether query is a regular expression.' },
      },
      ['query'],
    ),
  },
};
