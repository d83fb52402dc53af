import { Ajv2020 } from 'ajv/dist/2020.js';
import { _, str, type ValidateFunction } from 'ajv';
import canonicalize from 'canonicalize';
import { RE2JS } from 're2js';
import type { JsonSchema } from '../model/environment.ts';
import { stepsKeyword, withSteps } from './schema-steps.ts';

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

/** Patterns are for names, dates and ids. An engine without backtracking still takes up to 35 ns for a character. */
const mostMatchedCharacters = 65_536;
/** What a match costs in addition to its characters. */
const charactersOfAMatch = 8;

/** A step is one schema on one value: 0.1 to 0.5 µs, so that a check takes at most 50 times what JSON.parse does. */
const stepsOfEachValue = 1;
/** A few values may have many alternatives. */
const stepsOfEachCheck = 3_000;

class TooMuch extends Error {
  readonly of: Extract<Mistakes, string>;

  constructor(of: Extract<Mistakes, string>) {
    super(of);
    this.of = of;
  }
}

/** Throws `Error` if it is not a schema, or has a pattern that cannot be run so. */
export function compileSchema(schema: JsonSchema): SchemaCheck {
  const validate = compiled(withSteps(schema) as JsonSchema);
  return (value, values = 0) => {
    charactersLeft = mostMatchedCharacters;
    stepsLeft = stepsOfEachCheck + stepsOfEachValue * values;
    try {
      return validate(value) ? null : (validate.errors ?? []);
    } catch (thrown) {
      if (thrown instanceof TooMuch) return thrown.of;
      throw thrown;
    }
  };
}

/** What a reference leads to is a function of its own, and ajv copies all mistakes found so far after each that failed. */
const refers = (schema: JsonSchema): boolean =>
  /"\$(?:ref|dynamicRef|recursiveRef)":/.test(JSON.stringify(schema));

/** Compiled and forgotten by ajv: another version of an environment may use the same `$id`. */
function compiled(schema: JsonSchema): ValidateFunction {
  const ajv = refers(schema) ? ajvOfFirst : ajvOfAll;
  // ajv checks the schema itself, by the same keywords.
  stepsLeft = Infinity;
  charactersLeft = Infinity;
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
  if (stepsLeft < 0) throw new TooMuch('too many steps');
  return true;
}

const regExp = Object.assign(linearPattern, {
  // What it is called in code that ajv writes to a file; it writes none.
  code: 'linearPattern',
});

// `strict: false`: authors may carry annotations of their own. `ownProperties`: every object inherits a `constructor`.
function createAjv(allErrors: boolean): Ajv2020 {
  const ajv = new Ajv2020({
    strict: false,
    strictNumbers: true,
    allErrors,
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
      const values = new Set(allowed);
      const texts = new Set(allowed.filter(isComposed).map((one) => canonicalize(one)));
      return (value: unknown) =>
        isComposed(value) ? texts.size > 0 && texts.has(canonical(value)) : values.has(value);
    },
  });
  requireNames(ajv, 'required');
  requireNames(ajv, 'dependentRequired');
  return ajv;
}

/** In place of ajv's own keyword, which reports every name. */
function requireNames(ajv: Ajv2020, keyword: 'required' | 'dependentRequired'): void {
  ajv.removeKeyword(keyword);
  ajv.addKeyword({
    keyword,
    type: 'object',
    error: {
      message: ({ params }) => str`must have required property '${params['missingProperty']}'`,
      params: ({ params }) => _`{missingProperty: ${params['missingProperty']}}`,
    },
    code: (context) => {
      const find = context.gen.scopeValue('keyword', { ref: missing });
      context.gen.forOf('name', _`${find}(${context.data}, ${context.schemaValue})`, (name) => {
        context.setParams({ missingProperty: name });
        context.error();
      });
    },
  });
}

/** The model gets so many reasons. */
const mostMissing = 3;

type Needed = readonly string[] | Readonly<Record<string, readonly string[]>>;

function missing(object: object, needed: Needed): readonly string[] {
  const found: string[] = [];
  for (const name of namesOf(object, needed)) {
    if (!Object.hasOwn(object, name)) found.push(name);
    if (found.length === mostMissing) break;
  }
  return found;
}

const isList = (needed: Needed): needed is readonly string[] => Array.isArray(needed);

function namesOf(object: object, needed: Needed): readonly string[] {
  if (isList(needed)) return needed;
  return Object.keys(needed).flatMap((name) => (Object.hasOwn(object, name) ? (needed[name] ?? []) : []));
}

const isComposed = (value: unknown): boolean => typeof value === 'object' && value !== null;

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
      charactersLeft -= charactersOfAMatch + text.length;
      if (charactersLeft < 0) throw new TooMuch('patterns on too much text');
      return compiled.test(text);
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

const ajvOfAll = createAjv(true);
/** Stops at the first mistake. */
const ajvOfFirst = createAjv(false);
