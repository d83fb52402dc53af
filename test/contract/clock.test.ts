import { setTimeout as realTime } from 'node:timers/promises';
import { systemClock } from '#src/platform/clock.ts';
import { createFakeClock } from '../fakes/clock.ts';
import { SimProcess } from '../simulation/engine/process.ts';
import { Scheduler } from '../simulation/engine/scheduler.ts';
import { describeClock } from './clock.ts';

describeClock('the machine’s own', () => ({
  clock: systemClock,
  pass: (durationMs) => realTime(durationMs),
}));

describeClock('the fake of tests', () => {
  const clock = createFakeClock();
  return { clock, pass: (durationMs) => clock.advance(durationMs) };
});

describeClock('a process of the simulator', () => {
  const scheduler = new Scheduler();
  const pass = async (durationMs: number) => {
    const untilMs = scheduler.nowMs + durationMs;
    scheduler.after(durationMs, 'test', 'passes', () => undefined);
    while (scheduler.nowMs < untilMs) await scheduler.step();
  };
  return { clock: new SimProcess('gateway', scheduler).clock, pass };
});
