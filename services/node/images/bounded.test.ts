import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Clock } from '#src/ports/clock.ts';
import { bounded, diskBytes } from './bounded.ts';

let path: string;
beforeEach(() => (path = mkdtempSync(join(tmpdir(), 'corral-bounded-'))));
afterEach(() => rmSync(path, { recursive: true }));

/** Each sleep takes a second, in which so many bytes come. */
function clockWith(bytesEach: number): Clock {
  let timeMs = 0;
  const sleep = () => {
    timeMs += 1_000;
    appendFileSync(join(path, 'blob'), Buffer.alloc(bytesEach));
    return new Promise<void>((resolve) => void setImmediate(resolve));
  };
  return { nowMs: () => timeMs, monotonicMs: () => timeMs, sleep };
}

const everything = { limit: { bytes: Infinity, files: Infinity }, make: () => Promise.resolve() };

function boundedWith(clock: Clock, run: (signal: AbortSignal) => Promise<unknown>) {
  const { signal } = new AbortController();
  return bounded(
    {
      clock,
      room: everything,
      measure: () => diskBytes(path),
      own: new Set(),
      image: 'task:1',
      leastBytes: 15_000_000,
      signal,
    },
    run,
  );
}

const untilEnded = (signal: AbortSignal) =>
  new Promise<never>((_resolve, reject) => {
    // Why it was ended, as the process that was ended would tell.
    signal.addEventListener('abort', () => reject(new Error(String(signal.reason))), { once: true });
  });

it('a registry that sends a few bytes now and then keeps no other image waiting', async () => {
  await expect(boundedWith(clockWith(4_096), untilEnded)).rejects.toThrow('bytes came in a minute');
});

it('a slow one goes on', async () => {
  const clock = clockWith(300_000);
  const run = async (signal: AbortSignal) => {
    while (clock.monotonicMs() < 200_000 && !signal.aborted)
      await new Promise<void>((resolve) => void setImmediate(resolve));
    return signal.aborted;
  };
  expect(await boundedWith(clock, run)).toBe(false);
});
