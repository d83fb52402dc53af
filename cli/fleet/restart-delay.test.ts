import { expect, test } from 'vitest';
import { afterDeath, noDeaths } from './supervise.ts';

test('a part that dies at once waits twice as long each time, up to ten seconds', () => {
  let deaths = noDeaths;
  const delays = Array.from({ length: 8 }, () => (deaths = afterDeath(deaths, 10)).delayMs);
  expect(delays).toEqual([200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
});

test('a part that lived a minute begins anew', () => {
  const many = { inARow: 9, delayMs: 10_000 };
  expect(afterDeath(many, 59_999).delayMs).toBe(10_000);
  expect(afterDeath(many, 60_000)).toEqual({ inARow: 1, delayMs: 200 });
});
