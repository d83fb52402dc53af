import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { longestScreenBytes } from '#src/protocol/sandboxd/terminals.ts';
import { type CallAnswer, longestStreamBytes, maxOutputBytes } from '#src/protocol/sandboxd/wire.ts';

/*
 * What sandboxd says of a call, to the letter. A command that runs as root can speak in sandboxd's place, and what it says reaches the
 * trainer: a number or a text that clients do not know would end a job, or be a discard that the policy wrote for itself.
 */

const Count = Type.Integer({ minimum: 0, maximum: longestStreamBytes });
/** Padded, so that every decoder takes it. */
const base64 = '(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?';
const Base64 = Type.String({ pattern: `^${base64}$` });
const StreamName = Type.Union([Type.Literal('stdout'), Type.Literal('stderr')]);

/** Each line brings its reader on by at least one byte. */
const Line = Type.Union([
  Type.Object({ end: Type.Literal(true) }),
  Type.Object({
    stream: StreamName,
    at: Count,
    lost: Type.Integer({ minimum: 1, maximum: longestStreamBytes }),
  }),
  Type.Object({
    stream: StreamName,
    at: Count,
    base64: Type.String({ pattern: `^${base64}$`, minLength: 4 }),
  }),
]);
export const lineCheck = Compile(Line);

export const leadingCheck = Compile(
  Type.Object({ leading: Type.Array(Type.String({ maxLength: 8_192 }), { maxItems: 20 }) }),
);

export const stdinCheck = Compile(
  Type.Object({ received: Type.Integer({ maximum: longestStreamBytes }), open: Type.Boolean() }),
);

export const screenCheck = Compile(
  Type.Union([
    Type.Object({ screen: Type.String({ maxLength: longestScreenBytes }), reason: Type.Null() }),
    Type.Object({ screen: Type.Null(), reason: Type.String({ maxLength: 4_096 }) }),
  ]),
);

const Name = Type.String({ maxLength: 64 });
const Refusal = Type.Object({
  code: Name,
  message: Type.String(),
  errno: Type.Optional(Name),
  exitCode: Type.Optional(Type.Integer()),
});
export type Refusal = Static<typeof Refusal>;
export const refusalCheck = Compile(Type.Object({ error: Refusal }));

const ExitCode = Type.Integer({ minimum: -1, maximum: 0xffff_ffff });
const Ending = Type.Union([
  Type.Object({ kind: Type.Literal('exited'), exitCode: ExitCode }),
  Type.Object({ kind: Type.Literal('signalled'), signal: Type.String() }),
  Type.Object({
    kind: Type.Literal('timed_out'),
    timeoutMs: Type.Optional(Type.Number()),
    exitCode: Type.Optional(ExitCode),
    signal: Type.Optional(Type.String()),
  }),
  Type.Object({ kind: Type.Literal('cancelled') }),
  Type.Object({
    kind: Type.Literal('not_started'),
    errno: Type.String(),
    message: Type.String(),
    late: Type.Optional(Type.Literal(true)),
  }),
]);
const Captured = Type.Object({
  head: Type.String(),
  tail: Type.String(),
  totalBytes: Count,
  cutBytes: Count,
});
const CapturedBytes = Type.Object({ head: Base64, tail: Base64 });
const Kept = Type.Integer({ minimum: 0, maximum: maxOutputBytes });
const Duration = Type.Number({ minimum: 0, maximum: longestStreamBytes });
const Evidence = Type.Object({
  durationMs: Duration,
  outOfMemoryKills: Type.Union([Count, Type.Null()]),
  memoryLackedBy: Type.Optional(Type.String()),
  nodeDiskFull: Type.Optional(Type.Boolean()),
  limitsUsedUp: Type.Optional(Type.Array(Type.String({ maxLength: 40 }), { maxItems: 16 })),
  mirrors: Type.Optional(
    Type.Object({
      asked: Count,
      failed: Count,
      confirmed: Count,
      refused: Count,
      lost: Count,
      doubt: Type.Union([Type.Literal('load'), Type.Literal('unproven'), Type.Null()]),
    }),
  ),
  escapedProcesses: Count,
  backgroundProcesses: Count,
  endedAgoMs: Type.Optional(Duration),
  backgroundMs: Type.Optional(Duration),
});

/** A grade is checked where it is judged. */
export const answerCheck = Compile(
  Type.Unsafe<CallAnswer>(
    Type.Object({
      callId: Type.String(),
      ending: Ending,
      stdout: Captured,
      stderr: Captured,
      base64: Type.Optional(Type.Object({ stdout: CapturedBytes, stderr: CapturedBytes })),
      evidence: Evidence,
      settled: Type.Optional(Type.Boolean()),
      kept: Type.Optional(Type.Object({ stdout: Kept, stderr: Kept })),
      grade: Type.Optional(Type.Object({})),
    }),
  ),
);
