/*
 * A schema as Helm can read it. Helm's regular expressions are Go's, which know no look-ahead: where a pattern begins with
 * `(?!x)`, the rest of it is kept, and of a record's names those that begin with `x` are refused by a pattern of their own.
 */

type Json = null | boolean | number | string | readonly Json[] | JsonObject;
type JsonObject = { readonly [field: string]: Json };

export function inWordsOfHelm(schema: object): JsonObject {
  return translated(JSON.parse(JSON.stringify(schema)) as JsonObject);
}

const translated = (value: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(value).map(([field, inner]) => [field, translate(field, inner)]));

function translate(field: string, value: Json): Json {
  if (field === 'pattern' && typeof value === 'string') return withoutLookAhead(value).rest;
  if (field === 'patternProperties' && isObject(value)) return named(value);
  if (Array.isArray(value)) return value.map((inner: Json) => translate('', inner));
  return isObject(value) ? translated(value) : value;
}

function named(patterns: JsonObject): JsonObject {
  const entries = Object.entries(patterns).flatMap(([pattern, inner]) => {
    const { rest, refused } = withoutLookAhead(pattern);
    const kept: readonly [string, Json] = [rest, translate('', inner)];
    return [kept].concat(refused.map((start) => [start, false]));
  });
  return Object.fromEntries(entries);
}

const lookAheads = /^\^(?<ahead>(?:\(\?![^()]+\))+)(?<rest>.*)$/;

/** `^(?!none$)[a-z]+$` is `^[a-z]+$`, but for what `^none$` matches. */
export function withoutLookAhead(pattern: string): {
  readonly rest: string;
  readonly refused: readonly string[];
} {
  const { ahead, rest } = lookAheads.exec(pattern)?.groups ?? {};
  if (ahead === undefined || rest === undefined) return { rest: pattern, refused: [] };
  const refused = [...ahead.matchAll(/\(\?!([^()]+)\)/g)].map(([, start = '']) => `^${start}`);
  return { rest: `^${rest}`, refused };
}

const isObject = (value: Json): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
