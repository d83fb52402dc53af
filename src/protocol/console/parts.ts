import { type TSchema, Type, type TUnion } from 'typebox';

/*
 * What the console's server answers and its page reads. All of it is made of names and numbers; every text that a policy, a trainer
 * or a grader wrote is a string that the page shows as text.
 */

export const nullable = <Schema extends TSchema>(
  schema: Schema,
): TUnion<[Schema, ReturnType<typeof Type.Null>]> => Type.Union([schema, Type.Null()]);

export const NumberOrNull = nullable(Type.Number());
export const TextOrNull = nullable(Type.String());

/** A part of the event log that was not read: which process has it, and why. */
export const MissingLog = Type.Object({ keeper: Type.String(), why: Type.String() });
