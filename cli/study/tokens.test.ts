import { beforeAll, expect, test } from 'vitest';
import { cpuMs } from '#test/support/cpu-time.ts';
import { type CountTokens, loadTokenCounter } from './tokens.ts';

let count: CountTokens;
beforeAll(async () => {
  count = await loadTokenCounter();
});

test('words are counted as the vocabulary has them, and its control words are text like any other', () => {
  expect(count('')).toBe(0);
  expect(count('hello world')).toBe(2);
  expect(count('<|endoftext|>')).toBeGreaterThan(1);
});

test('a long text is counted in pieces, two tokens off at each cut at most, and beyond 64 KiB by its measure', () => {
  const words = 'hello world '.repeat(5_000);
  expect(Math.abs(count(words) - 10_000)).toBeLessThan(2 * 60);
  expect(count('hello world '.repeat(50_000))).toBeGreaterThan(99_000);
});

test.each(['a', ' ', '👩‍👩‍👧', '\uD800'])('nobody holds the count up with 64 KiB of %j', (unit) => {
  const text = unit.repeat(64 * 1024).slice(0, 64 * 1024);
  const startedMs = cpuMs();
  expect(count(text)).toBeGreaterThan(0);
  // In one piece it takes 7 to 40 s.
  expect(cpuMs() - startedMs).toBeLessThan(3_000);
});
