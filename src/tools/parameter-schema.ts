import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ValidateFunction } from 'ajv';
import canonicalize from 'canonicalize';
import { RE2JS } from 're2js';
import type { JsonSchema } from '../model/environment.ts';

/*
 * The JSON schema of a tool's parameters. Its author wrote it, and the model chooses what it runs over, so no rule of it
 * may cost more than the text is long: a `pattern` runs in an engine that never backtracks, and whether items repeat is
 * asked of a set.
 */

/** Checks arguments; `null` where they fit, else what is wrong. */
export type SchemaCheck = (value: unknown) => Mistakes | null;
export type Mistakes = NonNullable<ValidateFunction['errors']> | 'patterns on too much text';

/** Patterns are for names, dates and ids. An engine without backtracking still takes up to 2 µs for a character. */
const mostMatchedCharacters = 65_536;

/** Throws `Error` where the schema is none, or has a pattern that cannot be run so. */
export function compileSchema(schema: JsonSchema): SchemaCheck {
  const validate = compiled(schema);
  return (value) => {
    charactersLeft = mostMatchedCharacters;
    if (validate(value)) return null;
    return charactersLeft < 0 ? 'patterns on too much text' : (validate.errors ?? []);
  };
}

/** Compiled and forgotten by ajv: another version of an environment may use the same `$id`. */
function compiled(schema: JsonSchema): ValidateFunction {
  try {
    return ajv.compile(schema);
  } finally {
    ajv.removeSchema(schema);
  }
}

/** Of the check that runs now; a check never waits for anything. */
let charactersLeft = mostMatchedCharacters;

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
ajv.removeKeyword('uniqueItems');
ajv.addKeyword({
  keyword: 'uniqueItems',
  type: 'array',
  schemaType: 'boolean',
  error: { message: 'must not hold the same item twice' },
  validate: (unique: boolean, items: readonly unknown[]) =>
    !unique || new Set(items.map((item) => canonicalize(item))).size === items.length,
});

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
