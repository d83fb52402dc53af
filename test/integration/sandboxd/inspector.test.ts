import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { callId } from '#src/model/ids.ts';
import { aBind, aShellCall, startSandboxd } from '#test/support/sandboxd.ts';

/*
 * SIGUSR1 makes Node open its inspector, and who connects to that is the process. Where commands have sandboxd's id, a policy can send it.
 */

/** The columns of /proc/net/tcp. */
const stateColumn = 3;
const inodeColumn = 9;
const listening = '0A';

function listensOnTcp(pid: number): boolean {
  const rows = ['tcp', 'tcp6'].flatMap((name) =>
    readFileSync(`/proc/${pid}/net/${name}`, 'utf8').split('\n'),
  );
  const columns = rows.map((row) => row.trim().split(/\s+/));
  const inodes = columns.filter((row) => row[stateColumn] === listening).map((row) => row[inodeColumn]);
  const files = readdirSync(`/proc/${pid}/fd`).map((file) => readlinkSync(`/proc/${pid}/fd/${file}`));
  const open = new Set(files);
  return inodes.some((inode) => open.has(`socket:[${inode}]`));
}

it('control: a Node that is not told otherwise opens its inspector', async () => {
  const node = spawn(process.execPath, [
    '--inspect-port=0',
    '--eval',
    'console.log(1); setInterval(() => {}, 1_000)',
  ]);
  onTestFinished(() => void node.kill('SIGKILL'));
  await once(node.stdout, 'data');
  expect(listensOnTcp(node.pid ?? 0)).toBe(false);
  node.kill('SIGUSR1');
  await expect.poll(() => listensOnTcp(node.pid ?? 0)).toBe(true);
});

it.each(['root', 'single-user'] as const)(
  'SIGUSR1 of a command opens no inspector in sandboxd: %s',
  async (users) => {
    const started = await startSandboxd({ users });
    onTestFinished(() => started.stop());
    const { process: sandboxd, link, target } = started;
    await link.bind(target, aBind(), AbortSignal.timeout(60_000));
    const ask = (id: string, command: string) =>
      link.call(target, callId(id), aShellCall(command), 15_000, AbortSignal.timeout(60_000));
    const send = `for i in 1 2 3; do kill -USR1 ${sandboxd.pid} || exit 1; done`;
    expect(await ask('c1', send)).toMatchObject({ ending: { kind: 'exited', exitCode: 0 } });
    // By then it has handled a signal that it handles.
    expect(await ask('c2', 'true')).toMatchObject({ ending: { kind: 'exited', exitCode: 0 } });
    expect(listensOnTcp(sandboxd.pid ?? 0)).toBe(false);
  },
);
