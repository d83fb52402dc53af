import { expect, test } from 'vitest';
import { systemClock } from './clock.ts';

test('a sleeper that is told to stop wakes at once and has not failed', async () => {
  const stop = new AbortController();
  const began = systemClock.monotonicMs();
  const sleep = systemClock.sleep(60_000, stop.signal);
  stop.abort();
  await sleep;
  expect(systemClock.monotonicMs() - began).toBeLessThan(5_000);
});

test('a sleeper sleeps its time', async () => {
  const began = systemClock.monotonicMs();
  await systemClock.sleep(30);
  // Node's timers count whole milliseconds and may wake within the last one.
  expect(systemClock.monotonicMs() - began).toBeGreaterThanOrEqual(29);
});
