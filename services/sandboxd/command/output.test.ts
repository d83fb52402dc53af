import { spawn } from 'node:child_process';
import { expect, test } from 'vitest';
import { Output } from './output.ts';

/** Stands still with the whole event loop, as a daemon does on a starved machine. */
const standStillMs = (durationMs: number) =>
  void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, durationMs);

test('what was written while the daemon stood still is read before the pipes count as quiet', async () => {
  const child = spawn('sh', ['-c', 'sleep 0.05; echo late; exec sleep 1'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = new Output(child.stdout, child.stderr, 1024);
  const settled = output.settled();
  standStillMs(400);
  await settled;
  expect(output.take().stdout.head.toString()).toBe('late\n');
  child.kill();
});
