import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { identifyProcess, isAlive, parseIdentity } from './process-identity.ts';
import { sendSignal } from '#test/support/send-signal.ts';

test('a process that runs is alive, and gone once it has ended', async () => {
  const child = spawn('sleep', ['60']);
  const identity = identifyProcess(child.pid ?? 0);
  expect(identity !== null && isAlive(identity)).toBe(true);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(identity !== null && isAlive(identity)).toBe(false);
});

test('the same pid with another start time or boot is somebody else', () => {
  const me = identifyProcess(process.pid);
  if (me === null) throw new Error('this process is not in /proc');
  expect(isAlive(me)).toBe(true);
  expect(isAlive({ ...me, startTicks: me.startTicks + 1 })).toBe(false);
  expect(isAlive({ ...me, bootId: 'another-boot' })).toBe(false);
});

test('a program whose name holds brackets and spaces is read rightly', async () => {
  const child = spawn('bash', ['-c', 'printf "a) R 1 (b" > /proc/self/comm; echo named; sleep 60 & wait']);
  await once(child.stdout, 'data');
  const identity = identifyProcess(child.pid ?? 0);
  expect(identity?.startTicks).toBeGreaterThan(0);
  expect(identity !== null && isAlive(identity)).toBe(true);
  sendSignal(child.pid, 'SIGKILL');
  await once(child, 'exit');
});

test.each(['', '{"pid": 12', '{"pid": 12}', '[]', 'null'])(
  'text that is no identity (%s) is none',
  (text) => {
    expect(parseIdentity(text)).toBeNull();
  },
);
