import { type Static, Type } from 'typebox';
import { AbsolutePath, Argv, Duration, strict } from './parts.ts';

const Builtin = Type.Enum(['shell', 'read_file', 'write_file', 'list_files', 'search'], {
  description: 'shell, read_file, write_file, list_files or search',
});

const ExitCode = Type.Integer({ minimum: 1, maximum: 255 });

const Index = strict({
  database: AbsolutePath,
  sql: Type.String({ minLength: 1, description: 'one SELECT' }),
  each: Type.Optional(Type.String({ minLength: 1 })),
  none: Type.Optional(Type.String({ minLength: 1 })),
});

/** One tool. Its parameters have two notations and are read by `compile/parameters.ts`. */
export const ToolSchema = strict({
  command: Type.Optional(Argv),
  builtin: Type.Optional(Builtin),
  index: Type.Optional(Index),
  description: Type.Optional(Type.String({ minLength: 1 })),
  parameters: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  timeout: Type.Optional(Duration),
  infrastructure_exit: Type.Optional(
    Type.Union([ExitCode, Type.Array(ExitCode)], { description: 'an exit code from 1 to 255, or a list' }),
  ),
});
export type BuiltinToolName = Static<typeof Builtin>;
export type IndexYaml = Static<typeof Index>;
export type ToolYaml = Static<typeof ToolSchema>;
