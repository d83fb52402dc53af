import { type Static, Type } from 'typebox';

/*
 * What reinforcement fine-tuning platforms send and expect. Fields that are not named here are let through and ignored:
 * the platforms add some without notice. Ids are checked where they are taken out (`isIdText`).
 */

/** The dataset row; `null` and absent are the same. */
const Item = Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()]);

/** A tool call. `arguments` is JSON text or an object, and whatever else the model made of it. */
export const ToolCallBody = Type.Object(
  {
    type: Type.Optional(Type.String()),
    id: Type.String(),
    call_id: Type.String(),
    name: Type.String(),
    arguments: Type.Unknown(),
    item: Type.Optional(Item),
    trace_id: Type.String(),
  },
  { title: 'FunctionCall' },
);
export type ToolCallBody = Static<typeof ToolCallBody>;

/** Exactly these four: what else stands there could reach the model. */
export const ToolCallAnswer = Type.Object(
  {
    type: Type.Literal('function_call_output'),
    call_id: Type.String(),
    id: Type.String(),
    output: Type.String(),
  },
  { title: 'FunctionCallOutput' },
);
export type ToolCallAnswer = Static<typeof ToolCallAnswer>;

export const GradeBody = Type.Object(
  {
    sample: Type.Record(Type.String(), Type.Unknown()),
    item: Type.Optional(Item),
    trace_id: Type.String(),
  },
  { title: 'RftGradeRequest' },
);
export type GradeBody = Static<typeof GradeBody>;

export const GradeAnswer = Type.Object({ score: Type.Number() }, { title: 'RftGrade' });
export type GradeAnswer = Static<typeof GradeAnswer>;
