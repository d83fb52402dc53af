import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '#src/platform/clock.ts';
import { createPartRecords, killGroup, removeLeftovers } from './part-records.ts';
import { identifyProcess, isAlive } from './process-identity.ts';

let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'corral-records-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function startGroup() {
  const child = spawn('sh', ['-c', 'sleep 60 & echo $!; wait'], { detached: true });
  const identity = identifyProcess(child.pid ?? 0);
  if (identity === null) throw new Error('the process did not start');
  return { child, identity };
}

test('a part that an earlier fleet left running is killed with its whole group', async () => {
  const { child, identity } = startGroup();
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const grandchild = identifyProcess(Number(line.toString()));
  createPartRecords(folder).write('gateway', identity);
  expect(await removeLeftovers(folder, systemClock)).toEqual(['gateway']);
  expect(isAlive(identity)).toBe(false);
  // The signal is sent to all of the group; the kernel ends each in its own time.
  await expect.poll(() => grandchild !== null && isAlive(grandchild)).toBe(false);
  expect(readdirSync(folder)).toEqual([]);
});

test('a process that only has the same pid is left alone', async () => {
  const { child, identity } = startGroup();
  createPartRecords(folder).write('node', { ...identity, startTicks: identity.startTicks - 1 });
  expect(await removeLeftovers(folder, systemClock)).toEqual([]);
  expect(isAlive(identity)).toBe(true);
  killGroup(child.pid ?? 0);
  await once(child, 'exit');
});

test('a record that a crash cut short is removed', async () => {
  writeFileSync(join(folder, 'redis.json'), '{"pi');
  expect(await removeLeftovers(folder, systemClock)).toEqual([]);
  expect(readdirSync(folder)).toEqual([]);
});
