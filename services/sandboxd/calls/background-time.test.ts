import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { BackgroundTime, momentNow } from './background-time.ts';

function measured() {
  const now = { usedMs: 0, atMs: 0 };
  const time = new BackgroundTime(() => ({ ...now }));
  const pass = (atMs: number, usedMs: number) => {
    now.atMs += atMs;
    now.usedMs += usedMs;
  };
  const begin = () => {
    time.enter();
    return time.take();
  };
  return { time, pass, begin };
}

test('the background is charged to the next call by its processor time, not by the time that passes', () => {
  const { time, pass, begin } = measured();
  expect(begin()).toBe(0);
  pass(1_000, 900);
  time.leave();
  pass(60_000, 2_000);
  expect(begin()).toBe(2_000);
});

test('an idle background costs nothing', () => {
  const { time, pass, begin } = measured();
  begin();
  time.leave();
  pass(600_000, 0);
  expect(begin()).toBe(0);
});

test('several cores count once', () => {
  const { time, pass, begin } = measured();
  begin();
  time.leave();
  pass(1_000, 4_000);
  expect(begin()).toBe(1_000);
});

test('time in which a call runs is not the background, also with overlapping calls', () => {
  const { time, pass, begin } = measured();
  begin();
  pass(1_000, 500);
  expect(begin()).toBe(0);
  time.leave();
  pass(1_000, 500);
  expect(begin()).toBe(0);
  time.leave();
  time.leave();
  pass(1_000, 300);
  expect(begin()).toBe(300);
});

test('a transfer of files costs nothing, and the background before it is not lost', () => {
  const { time, pass, begin } = measured();
  begin();
  time.leave();
  pass(1_000, 200);
  time.enter();
  pass(1_000, 900);
  time.leave();
  pass(1_000, 300);
  expect(begin()).toBe(500);
});

test('work before the first call costs nothing', () => {
  const { time, pass, begin } = measured();
  time.enter();
  time.leave();
  pass(10_000, 5_000);
  expect(begin()).toBe(0);
});

test('nothing is charged if the kernel counts nothing', () => {
  const time = new BackgroundTime(() => null);
  time.enter();
  time.take();
  time.leave();
  time.enter();
  expect(time.take()).toBe(0);
});

test.each([
  ['version 2', 'usage_usec 2500000\nuser_usec 2000000\n', 2_500],
  ['version 1', '2500000000\n', 2_500],
])('the kernel’s count of control groups %s is read, without sandboxd’s own', (_version, text, groupMs) => {
  const folder = mkdtempSync(join(tmpdir(), 'corral-cpu-'));
  const file = join(folder, 'count');
  writeFileSync(file, text);
  const { user, system } = process.cpuUsage();
  const used = momentNow(file)?.usedMs ?? Number.NaN;
  expect(used).toBeLessThanOrEqual(groupMs - (user + system) / 1_000);
  expect(used).toBeGreaterThan(groupMs - (user + system) / 1_000 - 1_000);
  expect(momentNow(join(folder, 'missing'))).toBeNull();
  rmSync(folder, { recursive: true });
});
