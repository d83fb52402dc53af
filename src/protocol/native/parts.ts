import { type TSchema, Type } from 'typebox';

export const nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);

/** Which incarnation of a sandbox answered. */
export const EpochAnswer = Type.Object({ sandbox: Type.String(), boot: Type.String() });

export const VerdictAnswer = Type.Union([
  Type.Object({ kind: Type.Literal('scorable') }),
  Type.Object({
    kind: Type.Literal('discard'),
    code: Type.String(),
    cause: Type.Optional(Type.String()),
    suspected: Type.Optional(
      Type.Union([Type.Literal('command'), Type.Literal('answer')], {
        description: "nobody can tell whether the policy's own command, or its answer, did it",
      }),
    ),
  }),
]);

/** Newest attempt unless the query names one. Query values are text, so numbers are patterns. */
const Attempt = Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,5}$' }));

/** Longest wait of one request, below every proxy's ten minutes; the work itself goes on. */
export const maxWaitS = 540;
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
