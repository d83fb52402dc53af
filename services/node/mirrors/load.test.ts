import { expect, test } from 'vitest';
import { createLoad } from './load.ts';

test('a run makes most of the load with 100 requests and more than half of all, for a minute or two', () => {
  let nowMs = 0;
  const load = createLoad(() => nowMs);
  const ask = (run: string, times: number) => load.count(run, times);
  ask('a', 99);
  expect(load.isMost('a')).toBe(false);
  ask('a', 1);
  expect(load.isMost('a')).toBe(true);
  nowMs = 60_000;
  expect(load.isMost('a')).toBe(true);
  ask('b', 100);
  expect([load.isMost('a'), load.isMost('b')]).toEqual([false, false]);
  nowMs = 180_000;
  expect(load.isMost('a')).toBe(false);
});
