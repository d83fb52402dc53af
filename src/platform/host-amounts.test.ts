import { expect, test } from 'vitest';
import { readHostAmounts, readTotalMemory } from './host-amounts.ts';

const memoryOf = (percent: number) => readHostAmounts(percent).memoryBytes ?? 0;

test('one sandbox never gets what the machine’s own programs need, however often memory may be promised', () => {
  expect(memoryOf(800)).toBeLessThanOrEqual(readTotalMemory() * (7 / 8));
  expect(memoryOf(800)).toBeGreaterThanOrEqual(Math.floor(readTotalMemory() / 2));
});

test('nor more than may be promised to all', () => {
  expect(memoryOf(10)).toBe(Math.floor(readTotalMemory() / 10));
});
