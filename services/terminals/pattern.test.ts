import { expect, test } from 'vitest';
import { parsePattern } from './pattern.ts';

test('a text is looked for as it is, and a regular expression line by line', () => {
  expect(parsePattern('a.c', false).matches('abc')).toBe(false);
  expect(parsePattern('a.c', true).matches('abc')).toBe(true);
  expect(parsePattern('^done$', true).matches('not done\ndone\n$')).toBe(true);
});

test('an expression that would backtrack without end takes a moment', () => {
  const screen = `${'a'.repeat(25_000)}!`;
  expect(parsePattern('^(a+)+$', true).matches(screen)).toBe(false);
});

test.each([
  ['', false],
  ['x'.repeat(501), false],
  ['(', true],
  ['(?=a)', true],
  ['a{1,100000}', true],
])('%j is refused as a mistake of the model', (text, isRegex) => {
  expect(() => parsePattern(text, isRegex)).toThrow(/^wait_for/);
});
