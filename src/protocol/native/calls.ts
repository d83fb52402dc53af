import { type Static, Type } from 'typebox';
import { AttemptQuery, EpochAnswer, nullable, WaitQuery } from './parts.ts';

const closed = { additionalProperties: false };

/** What generators turn into the type of bytes. */
const base64 = { contentEncoding: 'base64' };

/** Longest timeout of one command on this face. */
const longestCommandS = 3600;
export const longestCommandMs = longestCommandS * 1000;
const Setup = Type.Optional(
  Type.Boolean({
    description:
      'set-up for the policy, before its first call: if the sandbox is lost until then, another one is given the same state. After a call without it `invalid_request`',
  }),
);
const seconds = { exclusiveMinimum: 0, maximum: longestCommandS };
const TimeoutS = Type.Optional(Type.Number(seconds));

export const CallBody = Type.Object(
  {
    call_id: Type.String(),
    name: Type.String(),
    arguments: Type.Unknown(),
    timeout_s: TimeoutS,
    setup: Setup,
  },
  { ...closed, title: 'ToolCall' },
);

/** A command of the trainer's own: `argv`, or `command`, which `bash -c` runs if the image has bash, else `sh -c`. */
export const ExecBody = Type.Object(
  {
    call_id: Type.String(),
    argv: Type.Optional(
      Type.Array(Type.String(), { minItems: 1, maxItems: 4096, description: 'this or command' }),
    ),
    command: Type.Optional(Type.String({ description: 'this or argv' })),
    cwd: Type.Optional(Type.String({ minLength: 1 })),
    env: Type.Optional(Type.Record(Type.String(), Type.String())),
    stdin: Type.Optional(Type.String()),
    stdin_base64: Type.Optional(
      Type.String({ ...base64, pattern: '^[A-Za-z0-9+/]*={0,2}$', description: 'bytes in place of `stdin`' }),
    ),
    timeout_s: TimeoutS,
    user: Type.Optional(Type.Union([Type.Literal('policy'), Type.Literal('root')])),
    merge: Type.Optional(
      Type.Boolean({ description: 'stderr comes in stdout, in the order of writing; default: false' }),
    ),
    binary: Type.Optional(
      Type.Boolean({
        description: 'the answer has `stdout_base64` and `stderr_base64`, and empty texts; default: false',
      }),
    ),
    stream: Type.Optional(
      Type.Boolean({
        description:
          '202 as soon as the command was sent; its output is at `/calls/{call_id}/stream`. As with `binary`',
      }),
    ),
    open_stdin: Type.Optional(
      Type.Boolean({ description: 'with `stream`: stdin stays open for `/calls/{call_id}/stdin`' }),
    ),
    max_output_bytes: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 10_485_760,
        description: 'kept of each stream, head and tail; default: limits.output_bytes of the environment',
      }),
    ),
    setup: Setup,
  },
  { ...closed, title: 'Command' },
);
export type ExecBody = Static<typeof ExecBody>;

/** A terminal is followed by a call, whose stream is read as a command's. */
export const TerminalParams = Type.Object({
  id: Type.String(),
  terminal: Type.String({ pattern: '^[1-9][0-9]{0,8}$', description: 'its number, as the model reads it' }),
});
export const FollowBody = Type.Object(
  {
    call_id: Type.String(),
    timeout_s: Type.Optional(
      Type.Number({ ...seconds, description: `the stream ends then; default: ${longestCommandS}` }),
    ),
  },
  { ...closed, title: 'TerminalFollower' },
);

export const ScreenQuery = Type.Object(
  {
    attempt: AttemptQuery.properties.attempt,
    terminal: Type.Optional(
      Type.String({
        pattern: '^[1-9][0-9]{0,8}$',
        description: 'its number; default: the one that was opened last',
      }),
    ),
  },
  closed,
);
export const ScreenAnswer = Type.Object(
  {
    screen: nullable(
      Type.String({
        description: 'the state of the terminal in a line, then its screen: text of the policy',
      }),
    ),
    reason: nullable(Type.String({ description: 'why it is null' })),
  },
  { title: 'Screen' },
);
export type ScreenAnswer = Static<typeof ScreenAnswer>;

/** A settled call. `code` names the model's failure where there is one. */
export const CallAnswer = Type.Object(
  {
    call_id: Type.String(),
    outcome: Type.Union([
      Type.Literal('completed'),
      Type.Literal('timed_out'),
      Type.Literal('refused'),
      Type.Literal('cancelled'),
    ]),
    code: nullable(Type.String()),
    exit_code: nullable(Type.Number()),
    signal: nullable(Type.String()),
    output: Type.String({ description: 'the text for the model' }),
    stdout: Type.String(),
    stderr: Type.String(),
    stdout_base64: Type.Optional(Type.String({ ...base64, description: 'of a command with `binary`' })),
    stderr_base64: Type.Optional(Type.String(base64)),
    truncated: Type.Object({ stdout: Type.Boolean(), stderr: Type.Boolean(), total_bytes: Type.Number() }),
    timed_out: Type.Boolean(),
    oom_killed: Type.Boolean(),
    duration_ms: Type.Number(),
    waited_ms: Type.Number(),
    epoch: nullable(EpochAnswer),
    replayed: Type.Boolean(),
  },
  { title: 'CallResult' },
);
export type CallAnswer = Static<typeof CallAnswer>;

/** Bytes of stdout and of stderr, in as many digits as `longestStreamBytes` of sandboxd has. */
export const eventId = /^[0-9]{1,15}-[0-9]{1,15}$/;
const StreamOffset = Type.String({
  pattern: eventId.source,
  description: 'the `id` of the last event that came; default: from the beginning',
});
export const StreamQuery = Type.Object(
  { ...WaitQuery.properties, offset: Type.Optional(StreamOffset) },
  closed,
);
const Flag = Type.Union([Type.Literal('true'), Type.Literal('false')]);
export const StdinQuery = Type.Object(
  {
    ...WaitQuery.properties,
    offset: Type.String({
      pattern: '^[0-9]{1,15}$',
      description: 'bytes of stdin before these; what came before is skipped',
    }),
    end: Type.Optional({ ...Flag, description: 'nothing follows; default: false' }),
  },
  closed,
);
export const StdinAnswer = Type.Object(
  {
    received: Type.Integer({
      description:
        'bytes of stdin so far, up to the end of these; if fewer, the command had no room for the rest: send it again',
    }),
    open: Type.Boolean({
      description: 'false: nothing more is taken, because the command has ended, or its stdin is closed',
    }),
  },
  { title: 'StdinTaken' },
);

/** The events of a followed call; the router sends them as text, and only the document describes them. */
export const StreamEvents = Type.Unsafe<unknown>({
  type: 'string',
  description:
    'server-sent events, each with an `id` to go on from. `output`: `{"stream", "at", "base64"}`. `gap`: `{"stream", "at", "bytes"}`, so many bytes are ' +
    'no longer kept. The last one is `end`, a CallResult without its streams, or `error`, an Error; without one of them the stream broke off',
});

export const CancelAnswer = Type.Object(
  {
    call_id: Type.String(),
    state: Type.Literal('cancelling'),
    began: Type.Boolean({ description: 'false: nothing of it has run, and nothing will' }),
    waiting: Type.Boolean({ description: 'it has not begun, and its rollout has no sandbox yet' }),
  },
  { title: 'Canceling' },
);

/** Either body may be left out. */
export const GradeBody = nullable(
  Type.Object(
    { sample: Type.Optional(Type.Record(Type.String(), Type.Unknown())) },
    { ...closed, title: 'GradeRequest' },
  ),
);
export const FinishBody = nullable(
  Type.Object(
    {
      score: Type.Optional(
        Type.Number({
          description: "the trainer's own, if the environment has `grader: {kind: none}`; once",
        }),
      ),
    },
    { ...closed, title: 'FinishRequest' },
  ),
);
export const GradeAnswer = Type.Object(
  {
    score: Type.Number(),
    detail: Type.Record(Type.String(), Type.Unknown()),
    replayed: Type.Boolean(),
  },
  { title: 'Grade' },
);

export const FileParams = Type.Object({ id: Type.String(), '*': Type.String() });
const fileQuery = {
  attempt: Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,5}$' })),
  user: Type.Optional(Type.Union([Type.Literal('policy'), Type.Literal('grader')])),
};
const CallId = Type.Optional(
  Type.String({
    description: 'an id of the upload: a repeat with it writes nothing and gets the same answer',
  }),
);
const FolderPath = Type.String({
  minLength: 1,
  description: 'a folder, below the workspace or absolute; out, also one file',
});
/** As of a call. */
const SetupQuery = Type.Optional(
  Type.Union([Type.Literal('true'), Type.Literal('false')], {
    description: 'set-up for the policy, before its first call; see `setup` of a command',
  }),
);
export const FileQuery = Type.Object(fileQuery, closed);
export const FileInQuery = Type.Object({ ...fileQuery, call_id: CallId, setup: SetupQuery }, closed);
export const ArchiveQuery = Type.Object({ ...fileQuery, path: FolderPath }, closed);
export const ArchiveInQuery = Type.Object(
  { ...fileQuery, path: FolderPath, call_id: CallId, setup: SetupQuery },
  closed,
);
export const FileAnswer = Type.Object(
  { path: Type.String(), bytes: Type.Number() },
  { title: 'FileWritten' },
);
export const ArchiveAnswer = Type.Object(
  {
    path: Type.String(),
    bytes: Type.Number({ description: 'of the files in it' }),
    entries: Type.Number(),
  },
  { title: 'ArchiveUnpacked' },
);
