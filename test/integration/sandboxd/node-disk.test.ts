import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { callId } from '#src/model/ids.ts';
import type { CallAnswer } from '#src/protocol/sandboxd/wire.ts';
import { aBind, aShellCall, startSandboxd, type TestSandboxd } from '#test/support/sandboxd.ts';

/*
 * The folders of a pod lie on the disk of its node. Here that is a file system of 64 MiB, of which the sandbox may write 8.
 * A neighbor fills it. The commands of this sandbox then fail for what they did not do.
 */

const mebibyte = 1024 * 1024;
let disk: string;
let workspace: string;
let started: TestSandboxd | null = null;
beforeAll(async () => {
  disk = mkdtempSync(join(tmpdir(), 'corral-node-disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64m,mode=755', 'node', disk]);
  await startAgain({});
});

/** Another sandbox, since what one has seen counts for its whole life. */
async function startAgain(env: Readonly<Record<string, string>>): Promise<void> {
  await started?.stop();
  workspace = mkdtempSync(join(disk, 'workspace-'));
  chmodSync(workspace, 0o777);
  started = await startSandboxd({
    env: { CORRAL_WORKSPACE: workspace, CORRAL_DISK_MIB: '8', ...env },
  });
  await started.link.bind(started.target, aBind(), AbortSignal.timeout(60_000));
}
afterAll(async () => {
  await started?.stop();
  execFileSync('umount', [disk]);
  rmSync(disk, { recursive: true });
});

function sandboxd(): TestSandboxd {
  if (started === null) throw new Error('there is no sandbox');
  return started;
}

function call(id: string, command: string) {
  const { link, target } = sandboxd();
  return link.call(target, callId(id), aShellCall(command), 15_000, AbortSignal.timeout(60_000));
}

function put(path: string, bytes: number) {
  async function* body() {
    yield Buffer.alloc(bytes, 'x');
  }
  const place = { path, user: 'policy', form: 'file' } as const;
  return sandboxd().link.putFile(sandboxd().target, place, body(), AbortSignal.timeout(60_000));
}

const fill = () => writeFileSync(join(disk, 'neighbor'), Buffer.alloc(65 * mebibyte));
const free = () => rmSync(join(disk, 'neighbor'), { force: true });

it('a call during which a neighbor fills the disk of the node says so', async () => {
  expect(() => fill()).toThrow('ENOSPC');
  const failed = await call('full', 'cat /proc/version > answer');
  expect(failed).toMatchObject({ stderr: { head: expect.stringContaining('No space left') as string } });
  expect(failed).toMatchObject({ evidence: { nodeDiskFull: true } });
  free();
  expect(await call('free', 'echo answer > answer')).not.toHaveProperty('evidence.nodeDiskFull');
});

it('a command cannot write a file that is larger than the disk of its sandbox', async () => {
  // By SIGXFSZ, as the shell says it.
  expect(await call('large', 'fallocate -l 9M large')).toMatchObject({ ending: { exitCode: 128 + 25 } });
  expect(await call('sparse', 'truncate -s 9M sparse')).toMatchObject({ ending: { exitCode: 128 + 25 } });
  expect(await call('small', 'fallocate -l 7M small && rm small')).toMatchObject({ ending: { exitCode: 0 } });
});

it('an upload to a file with another name fails with its old content, if the disk has no room for both', async () => {
  await call('old', 'printf %s old > one && ln one other && fallocate -l 2M large && ln large again');
  const freeBytes = 10 * mebibyte;
  const { bavail, bsize } = statfsSync(disk);
  writeFileSync(join(disk, 'neighbor'), Buffer.alloc(bavail * bsize - freeBytes));
  const full = { trouble: { kind: 'refused', code: 'file_error', errno: 'ENOSPC' } };
  await expect(put('one', 6 * mebibyte)).rejects.toMatchObject(full);
  expect(await call('kept', 'cat one other')).toMatchObject({ stdout: { head: 'oldold' } });
  // Blocks that the file already has need no room.
  expect(await put('large', 5 * mebibyte)).toEqual({ bytes: 5 * mebibyte });
  expect(await call('size', 'stat -c %s again')).toMatchObject({ stdout: { head: `${5 * mebibyte}\n` } });
  expect(await put('large', 3)).toEqual({ bytes: 3 });
  expect(await call('short', 'stat -c %s again')).toMatchObject({ stdout: { head: '3\n' } });
  free();
});

it('a neighbor that fills the disk during a call and frees it within a second is seen', async () => {
  const running = call('between', 'until [ -e go ]; do sleep 0.05; done; rm go');
  expect(() => fill()).toThrow('ENOSPC');
  await new Promise((resolve) => setTimeout(resolve, 900));
  free();
  writeFileSync(join(workspace, 'go'), '');
  expect(await running).toMatchObject({ ending: { exitCode: 0 }, evidence: { nodeDiskFull: true } });
});

/** Several looks, also on a machine that is late with each. */
const looks = () => new Promise((resolve) => setTimeout(resolve, 4_000));

it.each([
  ['what runs in the background', '51234', 'setsid sleep 30 >/dev/null 2>&1 &', true],
  ['nothing', '51235', 'true', false],
])(
  'a disk that is full between two calls, while of the policy there lives: %s',
  async (_who, id, command, isTold) => {
    // An id of its own: other sandboxes of this machine have the usual one.
    await startAgain({ CORRAL_POLICY_UID: id, CORRAL_POLICY_GID: id });
    await call('before', command);
    expect(() => fill()).toThrow('ENOSPC');
    await looks();
    free();
    const { evidence } = answered(await call('after', 'true'));
    expect(evidence.nodeDiskFull === true).toBe(isTold);
  },
);

it('a full disk below another folder of the sandbox is seen, too', async () => {
  const elsewhere = mkdtempSync(join(tmpdir(), 'corral-workspace-'));
  chmodSync(elsewhere, 0o777);
  await startAgain({ CORRAL_WORKSPACE: elsewhere, CORRAL_GRADER_FOLDER: join(disk, 'grader') });
  expect(() => fill()).toThrow('ENOSPC');
  const { evidence } = answered(await call('full', 'true'));
  free();
  expect(evidence).toMatchObject({ nodeDiskFull: true });
  rmSync(elsewhere, { recursive: true });
});

function answered(answer: CallAnswer | 'running'): CallAnswer {
  if (answer === 'running') throw new Error('it still runs');
  return answer;
}
