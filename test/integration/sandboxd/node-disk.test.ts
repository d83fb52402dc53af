import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { callId } from '#src/model/ids.ts';
import { aBind, aShellCall, startSandboxd, type TestSandboxd } from '#test/support/sandboxd.ts';

/*
 * The folders of a pod lie on the disk of its node. Here that is a file system of 64 MiB, of which the sandbox may write 8.
 * A neighbor fills it. The commands of this sandbox then fail for what they did not do.
 */

const mebibyte = 1024 * 1024;
let disk: string;
let sandboxd: TestSandboxd;
beforeAll(async () => {
  disk = mkdtempSync(join(tmpdir(), 'corral-node-disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64m,mode=755', 'node', disk]);
  mkdirSync(join(disk, 'workspace'));
  chmodSync(join(disk, 'workspace'), 0o777);
  const env = { CORRAL_WORKSPACE: join(disk, 'workspace'), CORRAL_DISK_MIB: '8' };
  sandboxd = await startSandboxd({ env });
  await sandboxd.link.bind(sandboxd.target, aBind(), AbortSignal.timeout(60_000));
});
afterAll(async () => {
  await sandboxd.stop();
  execFileSync('umount', [disk]);
  rmSync(disk, { recursive: true });
});

const call = (id: string, command: string) =>
  sandboxd.link.call(sandboxd.target, callId(id), aShellCall(command), 15_000, AbortSignal.timeout(60_000));

function put(path: string, bytes: number) {
  async function* body() {
    yield Buffer.alloc(bytes, 'x');
  }
  const place = { path, user: 'policy', form: 'file' } as const;
  return sandboxd.link.putFile(sandboxd.target, place, body(), AbortSignal.timeout(60_000));
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

it('a neighbor that frees the disk before the end of the call is seen', async () => {
  const running = call('between', 'until [ -e go ]; do sleep 0.05; done; rm go');
  expect(() => fill()).toThrow('ENOSPC');
  // Several looks, also on a machine that is late with each.
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  free();
  writeFileSync(join(disk, 'workspace', 'go'), '');
  expect(await running).toMatchObject({ ending: { exitCode: 0 }, evidence: { nodeDiskFull: true } });
});
