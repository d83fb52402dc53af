import { expect, test } from 'vitest';
import { expectFiftyTimes } from '#test/support/cost-of-a-slice.ts';
import { cpuMs } from '#test/support/cpu-time.ts';
import { compileSchema } from './parameter-schema.ts';

const texts = (schema: object) =>
  compileSchema({ type: 'object', properties: { text: { type: 'string', ...schema } } });

/** Long enough for any schema, far too short for an engine that backtracks. */
const atOnceMs = 1_000;

test('a pattern on which other engines backtrack for years is answered at once', () => {
  const check = texts({ pattern: '^(a+)+$' });
  const startedMs = cpuMs();
  expect(check({ text: `${'a'.repeat(60_000)}!` })).toHaveLength(1);
  expect(check({ text: 'a'.repeat(60_000) })).toBeNull();
  expect(cpuMs() - startedMs).toBeLessThan(atOnceMs);
});

test.each([
  [String.raw`^\d{4}-\d\d$`, '2026-11', '2026-1'],
  [String.raw`\.py$`, 'a.py', 'a.pyc'],
  [String.raw`^\p{Lu}`, 'Élan', 'élan'],
  ['^.$', '😀', 'ab'],
  [String.raw`^\u0061/$`, 'a/', 'b/'],
])('the pattern %s means what authors know it to mean', (pattern, fits, fitsNot) => {
  const check = texts({ pattern });
  expect(check({ text: fits })).toBeNull();
  expect(check({ text: fitsNot })).toHaveLength(1);
});

const pattern = (text: string) => ({ type: 'string', pattern: text });

test('a schema compiles after a check that had too much text for patterns', () => {
  const check = compileSchema({ type: 'array', items: { type: 'string', pattern: '^a*$' } });
  expect(check(['a'.repeat(70_000)])).toBe('patterns on too much text');
  expect(compileSchema({ $dynamicAnchor: 'node' })({})).toBeNull();
});

test('two patterns of one schema are two', () => {
  const check = compileSchema({ type: 'object', properties: { a: pattern('^a$'), b: pattern('^b$') } });
  expect(check({ a: 'a', b: 'b' })).toBeNull();
  expect(check({ a: 'b', b: 'a' })).toHaveLength(2);
});

test.each(['(?=a)b', '(?<!a)b', String.raw`(a)\1`, String.raw`(?<n>a)\k<n>`, '(', '[[:alpha:]]', 'a{1001}'])(
  'the pattern %s is refused when it is compiled',
  (pattern) => {
    expect(() => texts({ pattern })).toThrow();
  },
);

test('patterns look at so many characters of one call and no more', () => {
  const check = compileSchema({ type: 'array', items: { type: 'string', pattern: '^a*$' } });
  expect(check(Array.from({ length: 60 }, () => 'a'.repeat(1_000)))).toBeNull();
  expect(check(Array.from({ length: 70 }, () => 'a'.repeat(1_000)))).toBe('patterns on too much text');
  expect(check(['a'])).toBeNull();
});

test('ten thousand items are looked through for repeats at once, whatever order their fields stand in', () => {
  const check = compileSchema({ type: 'array', uniqueItems: true });
  const items = Array.from({ length: 10_000 }, (_, index) => ({ a: index, b: [index] }));
  const startedMs = cpuMs();
  expect(check(items, 30_000)).toBeNull();
  expect(check([...items, { b: [7], a: 7 }], 30_000)).toMatchObject([{ keyword: 'uniqueItems' }]);
  expect(cpuMs() - startedMs).toBeLessThan(atOnceMs);
});

test('what every object inherits is not given', () => {
  const check = compileSchema({ type: 'object', required: ['constructor'] });
  expect(check({})).toHaveLength(1);
  expect(check({ constructor: 1 })).toBeNull();
});

const many = (count: number, of: (index: number) => unknown) =>
  Array.from({ length: count }, (_, index) => of(index));
const fields = (count: number, of: (index: number) => unknown) =>
  Object.fromEntries(many(count, (index) => [`f${index}`, of(index)]) as [string, unknown][]);
const list = (items: object) => ({ type: 'array', items });
const numbers = many(9_990, () => 7);
const objects = many(4_990, () => ({ f1: 1 }));

/** Each kind of rule, over as many values as arguments may have. */
const costly: readonly (readonly [string, object, unknown])[] = [
  ['type', list({ type: 'string' }), numbers],
  ['enum', list({ enum: many(5_000, (index) => `v${index}`) }), numbers],
  ['enum of objects', list({ enum: many(500, (index) => ({ index })) }), objects],
  ['const', list({ const: fields(200, () => 1) }), objects],
  ['anyOf', list({ anyOf: many(100, (index) => ({ const: index })) }), numbers],
  ['oneOf', list({ oneOf: many(100, (index) => ({ type: 'integer', minimum: index })) }), numbers],
  ['allOf', list({ allOf: many(100, (index) => ({ maximum: 100 + index })) }), numbers],
  ['not', list({ not: { anyOf: many(100, (index) => ({ const: `${index}` })) } }), numbers],
  [
    'if',
    list(JSON.parse('{"if":{"minimum":1},"then":{"maximum":1},"else":{"type":"string"}}') as object),
    numbers,
  ],
  [
    'contains',
    { type: 'array', contains: { anyOf: many(100, (index) => ({ const: `${index}` })) } },
    numbers,
  ],
  ['prefixItems', { type: 'array', prefixItems: many(500, () => ({ type: 'string' })) }, numbers],
  ['uniqueItems', { type: 'array', uniqueItems: true }, many(4_990, (index) => [index])],
  [
    'uniqueItems again and again',
    { type: 'array', allOf: many(100, () => ({ uniqueItems: true })) },
    many(4_990, (index) => [index]),
  ],
  ['pattern', list({ type: 'string', pattern: '^(a|b)*c$' }), many(9_990, () => 'abab')],
  ['properties', list({ properties: fields(500, () => ({ type: 'string' })) }), objects],
  ['required', list({ required: many(500, (index) => `g${index}`) }), objects],
  [
    'additionalProperties',
    { additionalProperties: { anyOf: many(100, (index) => ({ const: index })) } },
    fields(9_990, () => 'x'),
  ],
  [
    'no additionalProperties',
    { properties: fields(7, () => true), additionalProperties: false },
    fields(9_990, () => 1),
  ],
  [
    'patternProperties',
    { patternProperties: fields(50, () => ({ type: 'string' })) },
    fields(9_990, () => 1),
  ],
  ['propertyNames', { propertyNames: { enum: many(5_000, (index) => `n${index}`) } }, fields(9_990, () => 1)],
  ['dependentRequired', list({ dependentRequired: fields(200, () => ['g']) }), objects],
  ['dependentSchemas', list({ dependentSchemas: fields(200, () => ({ required: ['g'] })) }), objects],
  [
    'unevaluatedProperties',
    list({ anyOf: many(50, () => ({ required: ['f1'] })), unevaluatedProperties: false }),
    objects,
  ],
  [
    'schemas that refer to themselves',
    {
      $defs: { tree: { anyOf: many(3, () => ({ type: 'array', items: { $ref: '#/$defs/tree' } })) } },
      $ref: '#/$defs/tree',
    },
    JSON.parse(`${'['.repeat(31)}1${']'.repeat(31)}`),
  ],
  [
    'schemas that refer to one another',
    {
      $defs: { text: { type: 'string', properties: { of: { $ref: '#/$defs/text' } } } },
      ...list({ $ref: '#/$defs/text' }),
    },
    numbers,
  ],
];

test.each(costly)(
  'a check of %s takes at most fifty times the JSON.parse of its value',
  (_kind, schema, value) => {
    const check = compileSchema(schema as Parameters<typeof compileSchema>[0]);
    expectFiftyTimes(() => check(value, 10_000), JSON.stringify(value));
  },
);
