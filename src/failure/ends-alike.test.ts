import { expect, test } from 'vitest';
import { exitsAlike, failsToStartAlike } from './ends-alike.ts';

test.each([
  [1, true],
  [128, true],
  [137, false],
])('exit code %i is the same in every other sandbox: %s', (exitCode, expected) => {
  expect(exitsAlike(exitCode)).toBe(expected);
});

test.each([
  ['ENOENT', true],
  ['EAGAIN', false],
])('%s at the start is the same in every other sandbox: %s', (errno, expected) => {
  expect(failsToStartAlike(errno)).toBe(expected);
});
