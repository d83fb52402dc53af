import { describe, expect, it } from 'vitest';
import type { Clock } from '#src/ports/clock.ts';

export type ClockUnderTest = {
  readonly clock: Clock;
  /** Lets so much time pass on it. */
  readonly pass: (durationMs: number) => Promise<void>;
};

/** What everybody who waits relies on, the same for every clock. */
export function describeClock(name: string, create: () => ClockUnderTest): void {
  describe(`clock contract: ${name}`, () => {
    it('shows the time of day in milliseconds since 1970 and moves forward', async () => {
      const { clock, pass } = create();
      const [dayMs, monotonicMs] = [clock.nowMs(), clock.monotonicMs()];
      expect(new Date(dayMs).getTime()).toBe(Math.trunc(dayMs));
      await pass(20);
      expect(clock.nowMs()).toBeGreaterThan(dayMs);
      expect(clock.monotonicMs()).toBeGreaterThan(monotonicMs);
    });

    it('a sleeper sleeps its time, and those of shorter sleep wake before', async () => {
      const { clock, pass } = create();
      const startMs = clock.monotonicMs();
      const woken: string[] = [];
      const sleeping = [
        clock.sleep(60).then(() => woken.push('long')),
        clock.sleep(15).then(() => woken.push('short')),
      ];
      await pass(100);
      await Promise.all(sleeping);
      expect(woken).toEqual(['short', 'long']);
      // Timers count whole milliseconds and may wake within the last one.
      expect(clock.monotonicMs() - startMs).toBeGreaterThanOrEqual(59);
    });

    it('a sleeper that is told to stop wakes at once and has not failed', async () => {
      const { clock } = create();
      const startMs = clock.monotonicMs();
      const stop = new AbortController();
      const sleeping = clock.sleep(60_000, stop.signal);
      stop.abort();
      await sleeping;
      await clock.sleep(60_000, stop.signal);
      expect(clock.monotonicMs() - startMs).toBeLessThan(30_000);
    });
  });
}
