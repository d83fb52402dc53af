import { expect, test } from 'vitest';
import { fairTimeout, type Look, processorsOfSandbox, starvedMs } from './starvation.ts';

const look = (atMs: number, usedMs: number, waits: Readonly<Record<string, number>> = {}): Look => ({
  atMs,
  usedMs,
  waitedMs: new Map(Object.entries(waits)),
});

test.each([
  ['nothing, if nothing waits: it sleeps', look(500, 0, { a: 0 }), 1, 0],
  [
    'nothing, if the sandbox uses all of its limit: its own threads wait for each other',
    look(500, 500, { a: 450, b: 450 }),
    1,
    0,
  ],
  ['what its limit leaves, if it uses a part of it', look(500, 200, { a: 450 }), 1, 300],
  ['as long as its longest thread waits, if that is less', look(500, 100, { a: 90, b: 120 }), 1, 120],
  ['the wait of a thread that is new', look(500, 100, { c: 250 }), 1, 250],
  ['by its processors, if it may use more than one', look(500, 500, { a: 450 }), 2, 250],
  ['nothing more than the time that has passed', look(500, 0, { a: 9_000 }), 1, 500],
])('the machine takes %s', (_, now, processors, starved) => {
  expect(starvedMs(look(0, 0, { a: 0, b: 0 }), now, processors)).toBe(starved);
});

/** Of a sandbox whose one thread gets so much of a processor, and waits for so much of the time. */
async function timeUntilOver(share: number, waits: number, mostStarvedMs: number): Promise<number> {
  let nowMs = 0;
  const takeLook = () => look(nowMs, share * nowMs, { a: waits * nowMs });
  const time = { timeoutMs: 2_000, mostStarvedMs, look: takeLook, processors: 1 };
  await fairTimeout(time, new AbortController().signal, async (ms) => void (nowMs += ms));
  return nowMs;
}

test.each([
  ['by the clock, if it gets what it wants', 1, 0, 8_000, 2_000],
  ['by the clock, if it only sleeps', 0, 0, 8_000, 2_000],
  ['twice as late, if it gets half of it', 0.5, 0.5, 8_000, 4_000],
  ['when it has starved for long enough, however busy the machine is', 0, 1, 8_000, 10_000],
  ['by the clock, if its clock may not stand still', 0.5, 0.5, 0, 2_000],
])('a timeout of two seconds is over %s', async (_, share, waits, mostStarvedMs, overMs) => {
  expect(await timeUntilOver(share, waits, mostStarvedMs)).toBeCloseTo(overMs, 3);
});

test('a machine that does not tell what the sandbox uses has the clock alone', async () => {
  const time = { timeoutMs: 1, mostStarvedMs: 60_000, look: () => null, processors: 1 };
  await expect(fairTimeout(time, new AbortController().signal)).resolves.toBeUndefined();
});

test.each([
  ['half a processor on v2', { '/sys/fs/cgroup/cpu.max': '50000 100000\n' }, 0.5],
  [
    'half a processor on v1',
    { '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '50000\n', '/sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n' },
    0.5,
  ],
  [
    'the machine, without a limit on v2',
    { '/sys/fs/cgroup/cpu.max': 'max 100000\n' },
    processorsOfSandbox(() => null),
  ],
  [
    'the machine, without a limit on v1',
    { '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '-1\n', '/sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n' },
    processorsOfSandbox(() => null),
  ],
])('a sandbox may use %s', (_, files: Readonly<Record<string, string>>, processors) => {
  expect(processorsOfSandbox((path) => files[path] ?? null)).toBe(processors);
});
