import { Type } from 'typebox';

const Scalar = Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]);

export const Evidence = Type.Record(Type.String(), Scalar);

/** The error body of every face; never with a key `output` or `score`. */
export const ErrorAnswer = Type.Object({
  error: Type.Object({
    code: Type.String(),
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

/** 202: the request's time is up, the work goes on; ask again with the call's own address. */
export const RunningAnswer = Type.Object({
  state: Type.Literal('running'),
  rollout_id: Type.Union([Type.String(), Type.Null()]),
  call_id: Type.Optional(Type.String()),
});
