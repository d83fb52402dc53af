import { expect, test } from 'vitest';
import { matches } from './path-pattern.ts';

test.each([
  ['a.png', 'a.png', true],
  ['a.png', 'b.png', false],
  ['*', '', true],
  ['*', 'anything', true],
  ['*.png', '.png', true],
  ['*.png', 'png', false],
  ['a*a', 'a', false],
  ['a*b*c', 'aXbYc', true],
  ['a*b*b', 'ab', false],
  ['a*bc*c', 'abc', false],
  ['**', 'x', true],
  [`${'*a'.repeat(1_000)}*b`, 'a'.repeat(10_000), false],
])('%.40s and the name %.40s: %s', (pattern, name, isMatch) => {
  expect(matches(pattern, name)).toBe(isMatch);
});
