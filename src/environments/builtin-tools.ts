import type { JsonSchema } from '../model/environment.ts';
import type { BuiltinToolName } from './schema/tool.ts';

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
export const builtinTools: Readonly<Record<BuiltinToolName, BuiltinDefinition>> = {
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
