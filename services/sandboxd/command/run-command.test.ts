import { spawn } from 'node:child_process';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { sandboxdSettings } from '#test/fakes/sandboxd-settings.ts';
import { readConfig } from '../config.ts';
import { Leaders } from '../processes/leaders.ts';
import { processUser } from '../users.ts';
import { Output, runCommand } from './run-command.ts';

const config = readConfig({ ...sandboxdSettings, CORRAL_USERS: 'single-user' }, 1000, '/');

/** Stands still with the whole event loop, as a daemon does on a starved machine. */
const standStillMs = (durationMs: number) =>
  void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, durationMs);

test('a command that ended in time has not timed out, however late the daemon looks', async () => {
  const running = runCommand(
    {
      argv: ['sh', '-c', 'sleep 0.05; echo done; exit 3'],
      cwd: '/',
      env: { PATH: '/usr/bin:/bin' },
      user: processUser(config, 'policy'),
      stdin: undefined,
      timeoutMs: 200,
      keepBytes: 1024,
    },
    new Leaders(),
    new AbortController().signal,
  );
  await nextTurn();
  standStillMs(400);
  const { ending, stdout } = await running;
  expect(ending).toEqual({ kind: 'exited', exitCode: 3 });
  expect(stdout.head.toString()).toBe('done\n');
});

test('what was written while the daemon stood still is read before the streams count as quiet', async () => {
  const child = spawn('sh', ['-c', 'sleep 0.05; echo late; exec sleep 1'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = new Output([child.stdout, child.stderr], { keepBytes: 1024, isInternal: true });
  const settled = output.settled();
  standStillMs(400);
  await settled;
  expect(output.take().stdout.head.toString()).toBe('late\n');
  child.kill();
});
