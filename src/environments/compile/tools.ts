import type { JsonSchema, Tool } from '#src/model/environment.ts';
import { itemFieldOf, placeholdersIn } from '#src/model/placeholder.ts';
import type { Path, Report } from '../mistakes.ts';
import { parseDurationMs } from '../quantities.ts';
import type { BuiltinToolName, ToolYaml } from '../schema/environment.ts';
import { bringsModelsOwn, modelChoosesProgram, splicedScript, unknownPlaceholder } from './command-rules.ts';
import { indexTool } from './index-tool.ts';
import { compileParameters, parameterNames, textParameters } from './parameters.ts';

/** Two minutes for a command that nobody thought about; an hour is the longest any face lets one run. */
const defaultTimeout = '120s';
export const longestTimeoutMs = 3_600_000;

export type InHand = {
  readonly name: string;
  readonly yaml: ToolYaml;
  readonly place: Path;
  readonly expose: readonly string[];
  readonly report: Report;
};

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
  checkExits(compiled, report);
  return Object.fromEntries(compiled.map((tool) => [tool.name, tool]));
}

/** `infrastructure_exit` discards a rollout, so nothing that the model can do may bring that exit code about. */
function checkExits(tools: readonly Tool[], report: Report): void {
  for (const tool of tools) {
    if (tool.run.kind !== 'command' || tool.run.infrastructureExits.length === 0) continue;
    const beside = tools.find((other) => other !== tool && bringsModelsOwn(other.run));
    if (beside === undefined) continue;
    report(
      ['tools', tool.name, 'infrastructure_exit'],
      `cannot stand beside the tool ${beside.name}, which brings programs or files of the model's own into the sandbox: ` +
        `with those it could remove what ${tool.name} needs, trace it or starve it, and so have a bad rollout discarded; ` +
        `take infrastructure_exit off, or ${beside.name} out of this environment`,
    );
  }
}

function compileTool(inHand: InHand): Tool {
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

function builtinTool(
  { name, yaml, place, report }: InHand,
  builtin: BuiltinToolName,
  timeoutMs: number,
): Tool {
  for (const field of ['parameters', 'infrastructure_exit'] as const) {
    if (yaml[field] !== undefined) report([...place, field], 'is fixed for a builtin tool; leave it out');
  }
  const { description, parameters } = builtinTools[builtin];
  const run: Tool['run'] =
    builtin === 'shell'
      ? { kind: 'command', argv: ['sh', '-c', '{command}'], infrastructureExits: [] }
      : { kind: 'builtin', tool: builtin };
  return { name, description: yaml.description ?? description, parameters, timeoutMs, run };
}

function commandTool(inHand: InHand, timeoutMs: number): Tool {
  const { name, yaml } = inHand;
  const argv = yaml.command ?? [];
  const parameters = parametersOf(inHand, argv);
  checkCommand(inHand, argv, parameters);
  return {
    name,
    description: yaml.description ?? `Runs ${name} in the workspace and returns its output. ${freshProcess}`,
    parameters,
    timeoutMs,
    run: { kind: 'command', argv, infrastructureExits: exitsOf(inHand, argv) },
  };
}

const freshProcess = 'Each call is a fresh process: files stay, nothing else carries over.';

/** Where the author declares none, every placeholder of the command is a required text. */
function parametersOf({ yaml, place, report }: InHand, argv: readonly string[]): JsonSchema {
  if (yaml.parameters !== undefined)
    return compileParameters(yaml.parameters, [...place, 'parameters'], report);
  const names = argv.flatMap(placeholdersIn).filter((name) => itemFieldOf(name) === null);
  return textParameters([...new Set(names)]);
}

function checkCommand(
  { place, expose, report }: InHand,
  argv: readonly string[],
  parameters: JsonSchema,
): void {
  const rules = [unknownPlaceholder(argv, parameterNames(parameters), expose), splicedScript(argv)];
  for (const broken of rules) if (broken !== null) report([...place, 'command'], broken);
}

function exitsOf({ yaml, place, report }: InHand, argv: readonly string[]): readonly number[] {
  const exits = [yaml.infrastructure_exit ?? []].flat();
  if (exits.length > 0 && modelChoosesProgram(argv)) {
    report(
      [...place, 'infrastructure_exit'],
      'needs a program that the model cannot choose: here it could exit with that code whenever it likes, and have a bad rollout discarded',
    );
  }
  return exits;
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
