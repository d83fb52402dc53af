import { expect, test } from 'vitest';
import { cpuMs } from '#test/support/cpu-time.ts';
import { matchesOne } from './policy.ts';

test.each([
  ['python:3.12', 'python:3.12', true],
  ['python:3.12', 'python:3.123', false],
  ['python:*', 'python:', true],
  ['*', '', true],
  ['', '', true],
  ['', 'a', false],
  ['a*a', 'a', false],
  ['a*a', 'aa', true],
  ['*b*', 'abc', true],
  ['a*b*c', 'a-c-b-c', true],
  ['a*b*c', 'acb', false],
  ['*ab', 'aab', true],
  ['**', 'a\nb', true],
  ['a.c', 'abc', false],
])('%j and %j: %j', (pattern, text, fits) => {
  expect(matchesOne([pattern], text)).toBe(fits);
});

test('many stars over a long text that almost fits are answered at once', () => {
  const startedMs = cpuMs();
  expect(matchesOne([`${'*a'.repeat(30)}*b`], 'a'.repeat(100_000))).toBe(false);
  expect(cpuMs() - startedMs).toBeLessThan(1_000);
});
