import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Leaders } from '../processes/leaders.ts';
import { runCommand } from './run-command.ts';

/** Stands still with the whole event loop, as a daemon does on a starved machine. */
const standStillMs = (durationMs: number) =>
  void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, durationMs);

test('a command that ended in time has not timed out, however late the daemon looks', async () => {
  const running = runCommand(
    {
      argv: ['sh', '-c', 'sleep 0.05; echo done; exit 3'],
      cwd: '/',
      env: { PATH: '/usr/bin:/bin' },
      user: { name: 'policy', ids: null, takesRoomOf: null, umask: 0o022 },
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
