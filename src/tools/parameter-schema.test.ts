import { expect, test } from 'vitest';
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
  expect(check(items)).toBeNull();
  expect(check([...items, { b: [7], a: 7 }])).toMatchObject([{ keyword: 'uniqueItems' }]);
  expect(cpuMs() - startedMs).toBeLessThan(atOnceMs);
});

test('what every object inherits is not given', () => {
  const check = compileSchema({ type: 'object', required: ['constructor'] });
  expect(check({})).toHaveLength(1);
  expect(check({ constructor: 1 })).toBeNull();
});
