import { describe, expect, it } from 'vitest';
import { createFakeClock } from '#test/fakes/clock.ts';
import { untilNobodyComes } from './leave.ts';

const drainDelayMs = 15_000;
const never = new AbortController().signal;

/** Leaves while one more comes every `everyMs`, until `lastMs`; resolves to when leaving was over. */
async function leftAfterMs(everyMs: number, lastMs: number, hurry = never): Promise<number> {
  const clock = createFakeClock(0);
  const gate = { entered: 0 };
  let overAtMs = Number.POSITIVE_INFINITY;
  void untilNobodyComes(gate, drainDelayMs, clock, hurry).then(() => (overAtMs = clock.monotonicMs()));
  for (let atMs = 0; atMs < 5 * drainDelayMs; atMs += everyMs) {
    if (atMs <= lastMs) gate.entered += 1;
    await clock.advance(everyMs);
  }
  return overAtMs;
}

describe('a gateway that leaves', () => {
  it('to which nobody comes any more after some seconds leaves for its delay', async () => {
    expect(await leftAfterMs(1_000, 8_000)).toBe(15_000);
  });

  it('that somebody still finds after its delay stays until nobody has come for a third of it', async () => {
    expect(await leftAfterMs(1_000, 22_500)).toBe(30_000);
  });

  it('that one client never lets go of stays no longer than three times its delay', async () => {
    expect(await leftAfterMs(1_000, Number.POSITIVE_INFINITY)).toBe(45_000);
  });

  it('that is hurried is over at once, whoever comes', async () => {
    expect(await leftAfterMs(1_000, Number.POSITIVE_INFINITY, AbortSignal.abort())).toBe(0);
  });
});
