import { expect, test } from 'vitest';
import { createSpanClock } from './tracer.ts';

function clocks() {
  const machine = { wallMs: 1_000_000, monotonicMs: 50 };
  const now = createSpanClock(
    () => Math.trunc(machine.wallMs),
    () => machine.monotonicMs,
  );
  const passMs = (durationMs: number) => {
    machine.wallMs += durationMs;
    machine.monotonicMs += durationMs;
  };
  return { machine, now, passMs };
}

test('it is finer than the wall clock', () => {
  const { now, passMs } = clocks();
  passMs(0.25);
  expect(now()).toBe(1_000_000.25);
});

test('it follows a clock that is set, either way', () => {
  const { machine, now, passMs } = clocks();
  machine.wallMs += 60_000;
  expect(now()).toBe(1_060_000);
  machine.wallMs -= 120_000;
  passMs(1.5);
  expect(now()).toBe(940_001);
});
