import { expect, test } from 'vitest';
import {
  type CpuSample,
  fairTimeout,
  idleOfMachine,
  Pauses,
  processorsOfSandbox,
  Starvation,
  starvedMs,
} from './starvation.ts';

type Times = readonly [ranMs: number, waitedMs: number];

const sample = (
  atMs: number,
  usedMs: number,
  threads: Readonly<Record<string, Times>>,
  idleMs = 0,
): CpuSample => ({
  atMs,
  usedMs,
  idleMs,
  threads: new Map(Object.entries(threads).map(([name, [ranMs, waitedMs]]) => [name, { ranMs, waitedMs }])),
});
const start = sample(0, 0, { a: [0, 0], b: [0, 0] });

test.each([
  ['as long as its only thread waits', sample(500, 100, { a: [100, 400] }), 1, 400],
  ['as long as the thread waits that waits least', sample(500, 200, { a: [50, 450], b: [150, 350] }), 1, 300],
  ['the share that a new thread waits of its busy time', sample(500, 100, { c: [50, 150] }), 1, 375],
  ['nothing, if its threads sleep', sample(500, 0, { a: [0, 0], b: [10, 20] }), 1, 0],
  [
    'nothing, if it uses all of its limit: its threads wait for each other',
    sample(500, 500, { a: [250, 250], b: [250, 250] }),
    1,
    0,
  ],
  [
    'nothing, if one thread works and others only wait, pinned to one processor',
    sample(500, 900, { a: [500, 0], b: [100, 400], c: [100, 400] }),
    4,
    0,
  ],
  [
    'nothing, if a processor of the machine was idle: its threads are pinned',
    sample(500, 500, { a: [250, 250], b: [250, 250] }, 500),
    4,
    0,
  ],
  ['what the machine was not idle', sample(500, 100, { a: [100, 400] }, 200), 1, 300],
])('the machine takes %s', (_, now, processors, starved) => {
  expect(starvedMs(start, now, processors)).toBe(starved);
});

/** Of a sandbox whose one thread runs and waits for so much of the time. */
function timeline(ran: number, waited: number) {
  let nowMs = 0;
  let samples = 0;
  const take = () => {
    samples += 1;
    return sample(nowMs, ran * nowMs, { a: [ran * nowMs, waited * nowMs] });
  };
  const time = { nowMs: () => nowMs, pause: async (ms: number) => void (nowMs += ms) };
  return { time, starvation: new Starvation(take, 1), samples: () => samples };
}

/** A pause is known when the next sample is taken, and the first is taken late, so an end may be such an interval off. */
function expectAbout(overMs: number, wantedMs: number): void {
  expect(Math.abs(overMs - wantedMs)).toBeLessThanOrEqual(400);
}

test.each([
  ['by the clock, if it gets what it wants', 1, 0, 8_000, 2_000],
  ['by the clock, if it only sleeps', 0, 0, 8_000, 2_000],
  ['twice as late, if it gets half of it', 0.5, 0.5, 8_000, 4_000],
  ['after the maximum pause, however busy the machine is', 0, 1, 8_000, 10_000],
  ['by the clock, if its clock may not pause', 0.5, 0.5, 0, 2_000],
])('a timeout of two seconds is over %s', async (_, ran, waited, maxMs, overMs) => {
  const { time, starvation } = timeline(ran, waited);
  await fairTimeout(2_000, new Pauses(starvation, maxMs), new AbortController().signal, time);
  expectAbout(time.nowMs(), overMs);
});

test('a program of a grader pauses no longer than the grader has left', async () => {
  const { time, starvation } = timeline(0, 1);
  const graders = new Pauses(starvation, 3_000);
  const { signal } = new AbortController();
  await fairTimeout(1_000, graders.within(2_000, 0), signal, time);
  expectAbout(time.nowMs(), 3_000);
  await fairTimeout(1_000, graders.within(2_000, time.nowMs()), signal, time);
  expectAbout(time.nowMs(), 4_000);
});

test('thirty clocks at once sample as often as one', async () => {
  const { time, starvation, samples } = timeline(0.5, 0.5);
  const clocks = Array.from({ length: 30 }, () => new Pauses(starvation, 4_000));
  await fairTimeout(2_000, new Pauses(starvation, 4_000), new AbortController().signal, {
    ...time,
    pause: async (ms) => {
      await time.pause(ms);
      for (const clock of clocks) clock.takenMs(time.nowMs());
    },
  });
  expect(samples()).toBeLessThanOrEqual(1 + time.nowMs() / 400);
});

test('on a machine without the numbers a timeout is over by the clock', async () => {
  const { time } = timeline(0, 1);
  const pauses = new Pauses(new Starvation(() => null, 1), 60_000);
  await fairTimeout(2_000, pauses, new AbortController().signal, time);
  expect(time.nowMs()).toBe(2_000);
});

test('a machine is idle while no processor works, also while a disk does', () => {
  expect(idleOfMachine('cpu  1 2 3 400 50 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n')).toBe(4_500);
  expect(idleOfMachine('nothing')).toBeNull();
});

const whole = processorsOfSandbox(() => null);
const v1 = (quota: string) => ({
  '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': `${quota}\n`,
  '/sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n',
});
test.each([
  ['half a processor by cgroup v2', { '/sys/fs/cgroup/cpu.max': '50000 100000\n' }, 0.5],
  ['half a processor by cgroup v1', v1('50000'), 0.5],
  ['the machine, without a limit of cgroup v2', { '/sys/fs/cgroup/cpu.max': 'max 100000\n' }, whole],
  ['the machine, without a limit of cgroup v1', v1('-1'), whole],
])('a sandbox may use %s', (_, files: Readonly<Record<string, string>>, processors) => {
  expect(processorsOfSandbox((path) => files[path] ?? null)).toBe(processors);
});
