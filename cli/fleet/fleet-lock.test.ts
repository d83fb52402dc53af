import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { takeFleetLock } from './fleet-lock.ts';

let folder = '';
const lockPath = () => join(folder, 'up.lock');

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'corral-lock-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Another process that takes the lock and then waits to be killed. */
async function otherHolder() {
  const script = `import { takeFleetLock } from '${join(import.meta.dirname, 'fleet-lock.ts')}';
    takeFleetLock(process.argv[1]); console.log('taken'); setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, lockPath()]);
  await once(child.stdout, 'data');
  return child;
}

test('a second fleet is refused with the pid of the first, and may have the folder once that is dead', async () => {
  const holder = await otherHolder();
  expect(() => takeFleetLock(lockPath())).toThrow(`a fleet already runs here, process ${holder.pid}`);
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  const lock = takeFleetLock(lockPath());
  expect(readFileSync(lockPath(), 'utf8')).toContain(`"pid":${process.pid}`);
  lock.release();
  expect(readdirSync(folder)).toEqual([]);
});

test('a lock that a crash left half written is taken over', () => {
  writeFileSync(lockPath(), '{"pid": 1');
  takeFleetLock(lockPath()).release();
  expect(existsSync(lockPath())).toBe(false);
});

test('releasing leaves a lock alone that another has taken since', () => {
  const lock = takeFleetLock(lockPath());
  writeFileSync(lockPath(), JSON.stringify({ pid: 1, startTicks: 1, bootId: 'x' }));
  lock.release();
  expect(existsSync(lockPath())).toBe(true);
});
