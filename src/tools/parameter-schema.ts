import { Ajv2020 } from 'ajv/dist/2020.js';
import { _, type ValidateFunction } from 'ajv';
import canonicalize from 'canonicalize';
import { RE2JS } from 're2js';
import type { JsonSchema } from '../model/environment.ts';

/*
 * The JSON schema of a tool's parameters. Its author wrote it, and the model chooses what it runs over, so no rule of it
 * may cost more than the text is long: a `pattern` runs in an engine that never backtracks, whether items repeat and whether a
 * value is one of many are asked of a set, and every application of a schema to a value costs steps, of which a check has only
 * some for each value.
 */

/** Checks arguments of so many values; `null` if they fit, else what is wrong. */
export type SchemaCheck = (value: unknown, values?: number) => Mistakes | null;
export type Mistakes =
  | NonNullable<ValidateFunction['errors']>
  | 'patterns on too much text'
  | 'too many steps';

/** Patterns are for names, dates and ids. An engine without backtracking still takes up to 2 µs for a character. */
const mostMatchedCharacters = 65_536;

/** A step is one schema on one value: 0.1 to 0.5 µs, so that a check takes at most 50 times what JSON.parse does. */
const stepsOfEachValue = 1;
/** A few values may have many alternatives. */
const stepsOfEachCheck = 3_000;

class TooManySteps extends Error {}

/** Throws `Error` if it is not a schema, or has a pattern that cannot be run so. */
export function compileSchema(schema: JsonSchema): SchemaCheck {
  const validate = compiled(withSteps(schema) as JsonSchema);
  return (value, values = 0) => {
    charactersLeft = mostMatchedCharacters;
    stepsLeft = stepsOfEachCheck + stepsOfEachValue * values;
    try {
      if (validate(value)) return null;
    } catch (thrown) {
      if (thrown instanceof TooManySteps) return 'too many steps';
      throw thrown;
    }
    return charactersLeft < 0 ? 'patterns on too much text' : (validate.errors ?? []);
  };
}

/** Compiled and forgotten by ajv: another version of an environment may use the same `$id`. */
function compiled(schema: JsonSchema): ValidateFunction {
  // ajv checks the schema itself, by the same keywords.
  stepsLeft = Infinity;
  try {
    return ajv.compile(schema);
  } finally {
    ajv.removeSchema(schema);
  }
}

/** Of the check that runs now; a check never waits for anything. */
let charactersLeft = mostMatchedCharacters;
let stepsLeft = stepsOfEachCheck;

function take(steps: number): true {
  stepsLeft -= steps;
  if (stepsLeft < 0) throw new TooManySteps();
  return true;
}

const stepsKeyword = 'corral:steps';
/** Keywords whose value is a map of schemas, a list of them, or one. */
const maps = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);
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
function withSteps(schema: unknown, itself = 1): unknown {
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
const notLookedFor = new Set(['enum', '$defs', 'definitions']);

/** Of its alternatives, which may fail before they could count; and of names of fields and constants, which are looked for. */
function stepsOf(schema: object): number {
  return Object.entries(schema).reduce((sum, [keyword, value]: [string, unknown]) => {
    if (notLookedFor.has(keyword) || typeof value !== 'object' || value === null) return sum;
    const entries = Object.keys(value).length;
    return sum + (lists.has(keyword) ? entries : Math.floor(entries / namesOfAStep));
  }, 0);
}

const regExp = Object.assign(linearPattern, {
  // What it is called in code that ajv writes to a file; it writes none.
  code: 'linearPattern',
});

// `strict: false`: authors may carry annotations of their own. `ownProperties`: every object inherits a `constructor`.
const ajv = new Ajv2020({
  strict: false,
  strictNumbers: true,
  allErrors: true,
  ownProperties: true,
  code: { regExp },
});
ajv.addKeyword({
  keyword: stepsKeyword,
  // The first of those that hold for values of every type: what fails ends a check.
  before: 'const',
  schemaType: 'number',
  errors: false,
  validate: (steps: number) => take(steps),
});
ajv.removeKeyword('uniqueItems');
ajv.addKeyword({
  keyword: 'uniqueItems',
  type: 'array',
  schemaType: 'boolean',
  error: { message: 'must not hold the same item twice' },
  validate: (unique: boolean, items: readonly unknown[]) =>
    !unique || new Set(items.map(canonical)).size === items.length,
});
ajv.removeKeyword('enum');
ajv.addKeyword({
  keyword: 'enum',
  schemaType: 'array',
  error: {
    message: 'must be one of the allowed values',
    params: ({ schemaCode }) => _`{allowedValues: ${schemaCode}}`,
  },
  compile: (allowed: readonly unknown[]) => {
    const texts = new Set(allowed.map((one) => canonicalize(one)));
    return (value: unknown) => texts.has(canonical(value));
  },
});

/** Equal values have equal texts. */
function canonical(value: unknown): string | undefined {
  const text = canonicalize(value);
  take(1 + Math.floor((text?.length ?? 0) / charactersOfAStep));
  return text;
}

/** So many that the longest arguments may be gone through twice, and not fifty times. */
const charactersOfAStep = 1_024;

type Linear = { test(text: string): boolean; toString(): string };

function linearPattern(pattern: string): Linear {
  // First by the rules that authors know; then by those of the other engine, which knows no look-around.
  const known = new RegExp(pattern, 'u');
  if (pattern.includes(String.raw`\k<`)) throw notLinear(known, 'it refers back to a group');
  const compiled = compileLinear(known);
  return {
    // By this ajv tells patterns apart.
    toString: () => String(known),
    test(text) {
      charactersLeft -= text.length;
      return charactersLeft >= 0 && compiled.matcher(text).find();
    },
  };
}

function compileLinear(pattern: RegExp): RE2JS {
  try {
    return RE2JS.compile(RE2JS.translateRegExp(pattern.source));
  } catch (error) {
    throw notLinear(pattern, error instanceof Error ? error.message : String(error));
  }
}

const notLinear = ({ source }: RegExp, reason: string): Error =>
  new Error(
    `the pattern ${source} cannot be matched in bounded time (${reason}); write it without look-around and back references`,
  );
