import { systemClock } from '../../src/platform/clock.ts';
import type { Clock } from '../../src/ports/clock.ts';

/** Real time, so many times as fast: for waits of minutes beside a real Redis. */
export function quickClock(times: number): Clock {
  return {
    nowMs: () => systemClock.nowMs(),
    monotonicMs: () => systemClock.monotonicMs() * times,
    sleep: (durationMs, signal) => systemClock.sleep(durationMs / times, signal),
  };
}
