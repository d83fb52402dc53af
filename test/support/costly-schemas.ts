import * as fc from 'fast-check';

/*
 * JSON schemas as an author may write them, and arguments that a model may choose to make them expensive: every keyword, wide
 * and in each other, over as many values as arguments may have.
 */

type Schema = Readonly<Record<string, unknown>>;
type Kind = fc.Arbitrary<Schema>;

const many = <Value>(count: number, of: (index: number) => Value): readonly Value[] =>
  Array.from({ length: count }, (_, index) => of(index));
const fields = (count: number, of: (index: number) => unknown): Schema =>
  Object.fromEntries(many(count, (index): [string, unknown] => [`f${index}`, of(index)]));

const joined = (...schemas: readonly Schema[]): Schema =>
  Object.fromEntries(schemas.flatMap((schema) => Object.entries(schema)));

const wide = fc.constantFrom(1, 8, 50, 300);
/** Of schemas that have more in them: the number of all is their product. */
const few = fc.constantFrom(1, 2, 5);
const only = (keyword: string, ...values: readonly unknown[]): Kind =>
  fc.constantFrom(...values).map((value) => ({ [keyword]: value }));

const patterns = [
  '^a',
  '^(a|b)*c$',
  '(a+)+$',
  String.raw`^\p{L}+$`,
  '(a|ab|b|ba)*?(x|y)',
  '[ab]*a[ab]{12}c',
  '.{3,60}z',
];

/** Keywords that have no schema in them. */
const flat: Readonly<Record<string, Kind>> = {
  type: only('type', 'string', 'integer', 'object', ['string', 'null']),
  enum: wide.chain((count) => only('enum', many(count, String), [...many(count, (f1) => ({ f1 })), 7])),
  const: wide.map((count) => ({ const: fields(count, () => 1) })),
  minimum: only('minimum', 100),
  maximum: only('maximum', -1),
  exclusiveMinimum: only('exclusiveMinimum', 100),
  exclusiveMaximum: only('exclusiveMaximum', -1),
  multipleOf: only('multipleOf', 0.7),
  minLength: only('minLength', 100),
  maxLength: only('maxLength', 1),
  minItems: only('minItems', 100),
  maxItems: only('maxItems', 0),
  minProperties: only('minProperties', 100),
  maxProperties: only('maxProperties', 0),
  uniqueItems: only('uniqueItems', true),
  nullable: only('nullable', true).map((schema) => joined(schema, { type: 'string' })),
  pattern: only('pattern', ...patterns),
  required: wide.map((count) => ({ required: many(count, (index) => `g${index}`) })),
  dependentRequired: wide.map((count) => ({
    dependentRequired: fields(count, () => many(count, (index) => `g${index}`)),
  })),
};

/** Keywords that have schemas in them. */
const deep = (inner: Kind): Readonly<Record<string, Kind>> => ({
  ...Object.fromEntries(
    ['anyOf', 'oneOf', 'allOf', 'prefixItems'].map((keyword) => [keyword, listOf(keyword, inner)]),
  ),
  ...Object.fromEntries(
    ['items', 'not', 'contains', 'propertyNames'].map((keyword) => [
      keyword,
      inner.map((schema) => ({ [keyword]: schema })),
    ]),
  ),
  ...Object.fromEntries(
    ['additionalProperties', 'unevaluatedItems', 'unevaluatedProperties'].map((keyword) => [
      keyword,
      fc
        .tuple(inner, inner, fc.boolean())
        .map(([schema, rest, none]) => joined(rest, { [keyword]: none ? false : schema })),
    ]),
  ),
  ...Object.fromEntries(
    ['properties', 'patternProperties', 'dependentSchemas', 'dependencies'].map((keyword) => [
      keyword,
      fc.tuple(few, inner).map(([count, schema]) => ({ [keyword]: fields(count, () => schema) })),
    ]),
  ),
  minContains: inner.map((schema) => ({ contains: schema, minContains: 9 })),
  maxContains: inner.map((schema) => ({ contains: schema, maxContains: 2 })),
  if: branches(inner),
});

const listOf = (keyword: string, inner: Kind): Kind =>
  fc.oneof(
    fc.tuple(few, inner).map(([count, schema]) => ({ [keyword]: many(count, () => schema) })),
    wide.map((count) => ({ [keyword]: many(count, (index) => ({ const: index })) })),
  );

/** Made with a text: an object with a `then` looks like a promise to lint. */
const branches = (inner: Kind): Kind =>
  fc
    .tuple(inner, inner, inner)
    .map((schemas) =>
      Object.fromEntries(['if', 'then', 'else'].map((name, index) => [name, schemas[index]])),
    );

const nested = fc.letrec<{ schema: Schema }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 2, depthSize: 'small' },
    fc.oneof(...Object.values(flat)),
    fc.oneof(...Object.values(deep(tie('schema')))),
    fc.tuple(tie('schema'), tie('schema')).map(([one, other]) => joined(one, other)),
  ),
})).schema;

/** Schemas that refer to each other, which only a whole one can. */
const whole = (inner: Kind): Readonly<Record<string, Kind>> => ({
  $ref: fc.tuple(few, inner).map(([count, schema]) => ({
    $defs: { tree: { ...schema, anyOf: many(count, () => ({ items: { $ref: '#/$defs/tree' } })) } },
    additionalProperties: { $ref: '#/$defs/tree' },
  })),
  $dynamicRef: fc.tuple(few, inner).map(([count, schema]) =>
    joined(schema, {
      $dynamicAnchor: 'node',
      additionalProperties: { anyOf: many(count, () => ({ items: { $dynamicRef: '#node' } })) },
    }),
  ),
});

/** So that it is applied to the values of a list, to each field, to one value, or to all. */
const placed = (schema: Schema): Kind =>
  fc.constantFrom(
    { additionalProperties: { items: schema } },
    { additionalProperties: { items: schema } },
    { additionalProperties: schema },
    { properties: { f0: schema } },
    schema,
  );

/** By keyword, each at the top or within another one. */
export const schemaKinds: ReadonlyMap<string, Kind> = new Map(
  Object.entries({ ...flat, ...deep(nested) })
    .map(([keyword, kind]): [string, Kind] => [keyword, kind.chain(placed)])
    .concat(Object.entries(whole(nested))),
);

/** With how many values each of them is. */
const values = [
  ['7', 1],
  ['null', 1],
  ['"abab"', 1],
  [`"${'ab'.repeat(40)}"`, 1],
  ['{}', 1],
  ['[]', 1],
  ['[[1]]', 3],
  ['{"f1":1}', 2],
  ['{"f0":1,"f1":"abab"}', 3],
] as const;

/** More than this a call may not have. */
const mostValues = 9_990;

/** JSON text of arguments: a list, fields, depth, or one long text; shown as what it is made of. */
export type ArgumentText = { readonly text: string; readonly [fc.toStringMethod]: () => string };

export const argumentTexts: fc.Arbitrary<ArgumentText> = fc
  .tuple(
    fc.constantFrom(...values),
    fc.constantFrom(1, 1, 1, 100, 1_000, 0.3),
    fc.constantFrom('list', 'list', 'list', 'fields', 'depth', 'text'),
  )
  .map(([[value, inEach], part, shape]) => {
    const count = Math.ceil(mostValues / inEach / part);
    return {
      text: textOf(value, count, shape),
      [fc.toStringMethod]: () => `${shape} of ${count} × ${value}`,
    };
  });

function textOf(value: string, count: number, shape: 'list' | 'fields' | 'depth' | 'text'): string {
  if (shape === 'list') return `{"f0":[${many(count, () => value).join(',')}]}`;
  if (shape === 'fields') return `{${many(count, (index) => `"f${index}":${value}`).join(',')}}`;
  if (shape === 'depth') return `{"f0":${'['.repeat(29)}${value}${']'.repeat(29)}}`;
  return `{"f0":"${'abc'.repeat(count)}"}`;
}
