import { array, assert, constantFrom, property } from 'fast-check';
import { expect, test } from 'vitest';
import { align } from './align.ts';

test('what both rollouts did stands side by side, and what one did alone between it', () => {
  expect(align(['ls', 'a', 'test'], ['ls', 'b', 'c', 'test'])).toEqual([
    [0, 0],
    [1, 1],
    [null, 2],
    [2, 3],
  ]);
});

test('a call whose arguments are not known equals no other', () => {
  expect(align([null, 'ls'], ['ls', null])).toEqual([
    [0, null],
    [1, 0],
    [null, 1],
  ]);
});

const calls = array(constantFrom('ls', 'cat a', 'test', null), { maxLength: 30 });

test('every call of both rollouts is shown once, in its order', () => {
  assert(
    property(calls, calls, (left, right) => {
      const pairs = align(left, right);
      const sideOf = (side: 0 | 1) => pairs.flatMap((pair) => pair[side] ?? []);
      expect(sideOf(0)).toEqual(left.map((_, at) => at));
      expect(sideOf(1)).toEqual(right.map((_, at) => at));
    }),
  );
});

test('a rollout and its copy have all known calls in common', () => {
  assert(
    property(calls, (each) => {
      const known = each.filter((call) => call !== null);
      expect(align(known, known)).toEqual(known.map((_, at) => [at, at]));
    }),
  );
});
