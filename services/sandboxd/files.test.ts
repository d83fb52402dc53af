import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { killWhenStalled } from './files.ts';

const times: [number, number] = [200, 20];
const started: ReturnType<typeof stopped>[] = [];
afterEach(() => started.splice(0).forEach(({ child }) => child.kill('SIGKILL')));

/** A helper that something in the sandbox has stopped. */
function stopped() {
  const child = spawn('sleep', ['60'], { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const { pid = 0, stdout, stderr } = child;
  child.kill('SIGSTOP');
  return { pid, child, stdout, stderr };
}

function start() {
  const helper = stopped();
  started.push(helper);
  return helper;
}

test('a helper that keeps its transfer waiting is killed, also when it is let go on now and then', async () => {
  const helper = start();
  let looks = 0;
  killWhenStalled(helper, () => (looks += 1) % 2 === 0, times);
  const [, signal] = (await once(helper.child, 'exit')) as [number | null, string | null];
  expect(signal).toBe('SIGKILL');
  expect(looks).toBeGreaterThanOrEqual(20);
});

test('one that waits for others is left alone, and so is one that nobody looks at any more', async () => {
  const [waits, over] = [start(), start()];
  const stops = [killWhenStalled(waits, () => false, times), killWhenStalled(over, () => true, times)];
  stops[1]?.();
  await sleep(600);
  stops[0]?.();
  expect([waits.child.signalCode, over.child.signalCode]).toEqual([null, null]);
});
