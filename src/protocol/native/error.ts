import { type TSchema, Type } from 'typebox';
import { failureCodes } from '#src/failure/codes.ts';

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

/** The same as the document tells it, with the codes of this gateway: clients check their own list against it. */
export const DescribedError = errorOf(
  Type.String({ enum: [...failureCodes], description: 'another gateway may know others' }),
);

/** 202: the request's time is up, the work goes on; ask again with the call's own address. */
export const RunningAnswer = Type.Object({
  state: Type.Literal('running'),
  rollout_id: Type.Union([Type.String(), Type.Null()]),
  call_id: Type.Optional(Type.String()),
});
