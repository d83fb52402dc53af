import type { JsonSchema } from '#src/model/environment.ts';

/** Of the arguments of a built-in tool. */
export const objectSchema = (properties: JsonSchema, required: readonly string[]): JsonSchema => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});
