import { type TSchema, Type } from 'typebox';
import { failureCodes } from '#src/failure/codes.ts';
import { productionTimings } from '#src/model/timings.ts';

export const nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);

/** Bodies that are no JSON. The router sends and takes them as they are; only the document describes them. */
export const Bytes = Type.Unsafe<unknown>({ type: 'string', format: 'binary' });
export const Lines = Type.Unsafe<unknown>({ type: 'string', description: 'one event a line, each as JSON' });

/** Which incarnation of a sandbox answered. */
export const EpochAnswer = Type.Object({ sandbox: Type.String(), boot: Type.String() }, { title: 'Epoch' });

export const VerdictAnswer = Type.Union(
  [
    Type.Object({ kind: Type.Literal('scorable') }),
    Type.Object({
      kind: Type.Literal('discard'),
      code: Type.String(),
      cause: Type.Optional(Type.String()),
      suspected: Type.Optional(
        Type.Union([Type.Literal('command'), Type.Literal('answer'), Type.Literal('dependency')], {
          description:
            "it is not known whether the policy's own command, its answer, or its use of a backend caused it",
        }),
      ),
    }),
  ],
  { title: 'Verdict' },
);

/** Newest attempt unless the query names one. Query values are text, so numbers are patterns. */
const Attempt = Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,5}$' }));

/** Longest wait of one request, below every proxy's ten minutes; the work itself goes on. */
export const maxWaitS = productionTimings.requestHoldMs / 1_000;
export const defaultWaitS = 300;
const WaitS = Type.Optional(
  Type.String({
    pattern: '^[0-9]{1,3}$',
    description: `seconds, at most ${maxWaitS}; default ${defaultWaitS}`,
  }),
);

export const AttemptQuery = Type.Object({ attempt: Attempt }, { additionalProperties: false });
export const WaitQuery = Type.Object({ attempt: Attempt, wait_s: WaitS }, { additionalProperties: false });

export const RolloutParams = Type.Object({ id: Type.String() });
export const CallParams = Type.Object({ id: Type.String(), call_id: Type.String() });
export const RunParams = Type.Object({ run: Type.String() });

const Scalar = Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]);

export const Evidence = Type.Record(Type.String(), Scalar);

const errorOf = <Code extends TSchema>(code: Code) =>
  Type.Object({
    error: Type.Object({
      code,
      blame: Type.Union([Type.Literal('model'), Type.Literal('caller'), Type.Literal('infrastructure')]),
      message: Type.String(),
      rollout_id: Type.Union([Type.String(), Type.Null()]),
      call_id: Type.Optional(Type.String()),
      admitted: Type.Union([Type.Literal('yes'), Type.Literal('no'), Type.Literal('unknown')]),
      retryable: Type.Boolean(),
      tainted: Type.Boolean(),
      evidence: Evidence,
    }),
  });

/** The error body of every face; never with a key `output` or `score`. Any code: a newer gateway may know more of them. */
export const ErrorAnswer = errorOf(Type.String());

/**
 * The same as the document has it. A closed list would break clients that are generated from it at the first new code, so the
 * known codes are next to the type: the clients of this repository compare their lists with them.
 */
const { error } = errorOf(
  Type.String({
    description: `a code of docs/failures.md; gateways of other versions may have more. Known: ${failureCodes.join(', ')}`,
    'x-extensible-enum': [...failureCodes],
  }),
).properties;
export const DescribedError = Type.Object({ error }, { title: 'Error' });
/** What E2B's clients read stands next to it. */
export const DescribedE2bError = Type.Object(
  {
    code: Type.Union([Type.Number(), Type.String()]),
    message: Type.String(),
    error: Type.Optional(error),
  },
  { title: 'E2bError' },
);

/** 202: the request's time is up, the work goes on; ask again with the call's own address. */
export const RunningAnswer = Type.Object(
  {
    state: Type.Literal('running'),
    rollout_id: Type.Union([Type.String(), Type.Null()]),
    call_id: Type.Optional(Type.String()),
    sent: Type.Optional(
      Type.Literal(true, {
        description: 'of a command with `stream`: it was sent; without it, send it again',
      }),
    ),
  },
  { title: 'Running' },
);
