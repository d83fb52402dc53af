import { expect, test } from 'vitest';
import { keysOf } from './keys.ts';

test('all keys of a fleet begin alike and share one hash tag', () => {
  expect(keysOf('f-1')('rollout', 'a/b')).toBe('corral:{f-1}:rollout:a/b');
});

test.each(['', 'a}b', 'a:b', 'Ä', 'x'.repeat(64)])('a fleet cannot be named "%s"', (name) => {
  expect(() => keysOf(name)).toThrow(RangeError);
});
