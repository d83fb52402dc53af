import { type Static, Type } from 'typebox';
import { mostAnsweredBytes } from '#src/protocol/sandboxd/wire.ts';
import { GraderSchema, WholeGraderSchema, type WholeGraderYaml } from './grader.ts';
import { AbsolutePath, Argv, Count, Duration, Name, strict } from './parts.ts';
import { SandboxSchema } from './sandbox.ts';

/** Long enough for any sentence, short enough that our own words never crowd out the command's. */
const Sentence = Type.String({ maxLength: 500, description: 'a text of at most 500 characters' });

const TextsYaml = strict({
  exit_code: Type.Optional(Sentence),
  signalled: Type.Optional(Sentence),
  timed_out: Type.Optional(Sentence),
  bytes_cut: Type.Optional(Sentence),
  not_started: Type.Optional(Sentence),
  bad_arguments: Type.Optional(Sentence),
  unknown_tool: Type.Optional(Sentence),
  budget_spent: Type.Optional(Sentence),
  too_many_at_once: Type.Optional(Sentence),
  time_spent: Type.Optional(Sentence),
  out_of_memory: Type.Optional(Sentence),
  broke_sandbox: Type.Optional(Sentence),
  sandbox_broken: Type.Optional(Sentence),
  cancelled: Type.Optional(Sentence),
});

/** sandboxd keeps 4,096 calls of a life; some of them are the setup's, the grader's and the trainer's own. */
const mostToolCalls = 4000;

/** Each is a call of the same journal. */
const mostSetupCommands = 32;
const SetupCommands = Type.Array(Argv, { maxItems: mostSetupCommands });

const Limits = strict({
  tool_calls: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: mostToolCalls,
      description: `a whole number from 1 to ${mostToolCalls}`,
    }),
  ),
  output_bytes: Type.Optional(
    Type.Integer({
      minimum: 1024,
      // A sandbox keeps its rollout's latest answers, whatever they have printed.
      maximum: mostAnsweredBytes,
      description: 'bytes from 1024 to 262144 (256 KiB)',
    }),
  ),
  rollout: Type.Optional(Duration),
  idle: Type.Optional(Duration),
  grade: Type.Optional(Duration),
  hard_life: Type.Optional(Duration),
});

const Builtin = Type.Enum(['shell', 'read_file', 'write_file', 'list_files', 'search'], {
  description: 'shell, read_file, write_file, list_files or search',
});

const ExitCode = Type.Integer({ minimum: 1, maximum: 255 });

/** An answer waits for a probe, so for up to this long and the probe's own time. */
const longestProbeIntervalS = 15;

const DependencySchema = strict({
  exit_code: Type.Union([ExitCode, Type.Array(ExitCode, { minItems: 1 })], {
    description: 'an exit code from 1 to 255, or a list',
  }),
  probe: Type.String({
    pattern: '^(?:https?|tcp)://',
    maxLength: 500,
    description: 'http://…, https://… or tcp://host:port',
  }),
  every_s: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: longestProbeIntervalS,
      description: `whole seconds from 1 to ${longestProbeIntervalS}`,
    }),
  ),
});

const Index = strict({
  database: AbsolutePath,
  sql: Type.String({ minLength: 1, description: 'one SELECT' }),
  each: Type.Optional(Type.String({ minLength: 1 })),
  none: Type.Optional(Type.String({ minLength: 1 })),
});

/** Earlier versions believed the exit code alone, so a policy could discard its bad rollouts with it. */
const removedToolFields = {
  infrastructure_exit:
    'was removed: any program in the sandbox can end with any code, so the code alone proves nothing; write ' +
    '`dependency: { exit_code: 75, probe: "http://host:port/health", every_s: 5 }` in its place, so that Corral asks the backend itself',
};

/** One tool. Its parameters have two notations and are read by `compile/parameters.ts`. */
export const ToolSchema = strict(
  {
    command: Type.Optional(Argv),
    builtin: Type.Optional(Builtin),
    index: Type.Optional(Index),
    description: Type.Optional(Type.String({ minLength: 1 })),
    parameters: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    timeout: Type.Optional(Duration),
    dependency: Type.Optional(DependencySchema),
    idempotent: Type.Optional(Type.Boolean({ description: 'true or false' })),
  },
  { removed: removedToolFields },
);
export type BuiltinToolName = Static<typeof Builtin>;
export type IndexYaml = Static<typeof Index>;
export type ToolYaml = Static<typeof ToolSchema>;

const SessionSchema = Type.Union([Type.Literal('terminal'), Type.Literal('browser')], {
  description: 'terminal or browser',
});

const PathText = Type.String({ minLength: 1 });

const RowFile = Type.Union(
  [
    PathText,
    strict({
      file: PathText,
      sha256: Type.String({ pattern: '^[0-9a-f]{64}$', description: '64 hexadecimal digits' }),
    }),
  ],
  { description: 'a JSONL file of rows, relative to this YAML, or {file, sha256}' },
);

/** As long as no prompt needs to be: every version keeps it. */
const longestPromptCharacters = 65_536;

const Text = Type.Union(
  [Type.String({ minLength: 1, maxLength: longestPromptCharacters }), strict({ file: PathText })],
  { description: `a text of at most ${longestPromptCharacters} characters, or {file: PATH}` },
);

const DatasetSchema = strict({
  train: Type.Optional(RowFile),
  eval: Type.Optional(RowFile),
  prompt: Type.Optional(
    Type.Union([Text, strict({ system: Type.Optional(Text), user: Text })], {
      description: 'a text, {file: PATH}, or {system, user} of those',
    }),
  ),
  disjoint: Type.Optional(
    Type.Array(
      Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_-]*$', description: 'the name of an item field' }),
    ),
  ),
});

export type DatasetYaml = Static<typeof DatasetSchema>;
export type RowFileYaml = Static<typeof RowFile>;
export type PromptTextYaml = Static<typeof Text>;

/** A whole environment file. */
export const EnvironmentSchema = strict(
  {
    name: Name,
    description: Type.Optional(Type.String()),
    sandbox: SandboxSchema,
    grader_sandbox: Type.Optional(SandboxSchema),
    setup: Type.Optional(
      Type.Union([SetupCommands, strict({ commands: SetupCommands, timeout: Type.Optional(Duration) })], {
        description: `a list of at most ${mostSetupCommands} commands, or {commands, timeout}`,
      }),
    ),
    expose: Type.Optional(
      Type.Array(
        Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_-]*$', description: 'the name of an item field' }),
      ),
    ),
    tools: Type.Optional(
      Type.Record(Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_-]{0,63}$' }), ToolSchema, {
        additionalProperties: false,
        minProperties: 1,
        title: 'tools are letters, digits, _ and -, at most 64',
        description: 'tools by name: {shell: {builtin: shell}}',
      }),
    ),
    sessions: Type.Optional(Type.Array(SessionSchema, { minItems: 1, uniqueItems: true })),
    limits: Type.Optional(Limits),
    grader: Type.Unsafe<WholeGraderYaml>(WholeGraderSchema),
    unseen_calls: Type.Optional(
      Type.Union([Type.Literal('discard'), Type.Literal('report')], { description: 'discard or report' }),
    ),
    on_too_long: Type.Optional(Type.Number({ description: 'a score' })),
    texts: Type.Optional(TextsYaml),
    dataset: Type.Optional(DatasetSchema),
    keep: Type.Optional(
      Type.Union([Type.Literal('graded'), Type.Literal('all'), Type.Literal('no'), Type.Boolean()], {
        description: 'graded, all or no',
      }),
    ),
    pool: Type.Optional(
      strict({
        min_ready: Type.Optional(Count),
        max: Type.Optional(Type.Integer({ minimum: 1, description: 'a whole number from 1' })),
        max_age: Type.Optional(Duration),
        grader: Type.Optional(
          strict({
            min_ready: Type.Optional(Count),
            max: Type.Optional(Type.Integer({ minimum: 1, description: 'a whole number from 1' })),
          }),
        ),
      }),
    ),
  },
  { $defs: { grader: GraderSchema } },
);

export type EnvironmentYaml = Static<typeof EnvironmentSchema>;
