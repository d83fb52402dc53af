/*
 * What the application of each schema of a tool's parameters costs, in steps, written into the schema as a keyword of its own.
 */

export const stepsKeyword = 'corral:steps';
/** Keywords whose value is a map of schemas, a list of them, or one. */
const maps = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependencies',
]);
const lists = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems']);
const single = new Set([
  'items',
  'additionalItems',
  'unevaluatedItems',
  'contains',
  'propertyNames',
  'additionalProperties',
  'unevaluatedProperties',
  'not',
  'if',
  'then',
  'else',
]);

/** The schema, and all schemas in it, with what each application of it costs. What is no schema ajv complains of. */
export function withSteps(schema: unknown, itself = 1): unknown {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return schema;
  const counted = Object.entries(schema).map(([keyword, value]: [string, unknown]) => {
    if (single.has(keyword)) return [keyword, withSteps(value)];
    if (lists.has(keyword) && Array.isArray(value)) return [keyword, value.map((one) => withSteps(one, 0))];
    if (maps.has(keyword) && typeof value === 'object' && value !== null)
      return [
        keyword,
        Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withSteps(one)])),
      ];
    return [keyword, value];
  });
  return { ...Object.fromEntries(counted), [stepsKeyword]: itself + stepsOf(schema) };
}

/** So many are looked for in the time of a step. */
const namesOfAStep = 8;
const notLookedFor = new Set([
  'enum',
  '$defs',
  'definitions',
  'description',
  'title',
  'default',
  'examples',
  '$comment',
]);

/** So many keywords are part of the first step of a schema, and so many of each other one. */
const keywordsOfAStep = 2;

/**
 * Of its alternatives, which may fail before they could count; of names of fields and constants, which are looked for; and of its
 * keywords, each of which may fail.
 */
function stepsOf(schema: object): number {
  const rules = Object.keys(schema).filter((keyword) => !notLookedFor.has(keyword)).length;
  return Object.entries(schema).reduce(
    (sum, [keyword, value]: [string, unknown]) => {
      if (notLookedFor.has(keyword) || typeof value !== 'object' || value === null) return sum;
      return (
        sum + (lists.has(keyword) ? Object.keys(value).length : Math.floor(namesIn(value) / namesOfAStep))
      );
    },
    Math.max(0, Math.ceil(rules / keywordsOfAStep) - 1),
  );
}

/** Of fields, and of what each of them requires. */
function namesIn(value: object): number {
  return Object.values(value).reduce(
    (count: number, below: unknown) => count + (Array.isArray(below) ? below.length : 1),
    0,
  );
}
