import { chmodSync, chownSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { callId } from '#src/model/ids.ts';
import type { NeededFolder } from '#src/protocol/sandboxd/wire.ts';
import {
  aBind,
  aShellCall,
  policyUid,
  startSandboxd,
  type TestSandboxd,
  type TestSandboxdOptions,
} from '#test/support/sandboxd.ts';

const { signal } = new AbortController();

async function started(options?: TestSandboxdOptions): Promise<TestSandboxd> {
  const sandboxd = await startSandboxd(options);
  onTestFinished(() => sandboxd.stop());
  chownSync(sandboxd.workspace, policyUid, policyUid);
  return sandboxd;
}

async function lacks({ link, target }: TestSandboxd, folders: readonly NeededFolder[], user?: string) {
  const needs = { folders, ...(user !== undefined && { user }) };
  return (await link.bind(target, { ...aBind(), needs }, signal)).lacks;
}

/** A folder of root beside the workspace. */
function roots({ folder }: TestSandboxd, name: string, mode: number): string {
  const path = join(folder, name);
  mkdirSync(path);
  chmodSync(path, mode);
  return path;
}

test('a bind without needs reports none', async () => {
  const { link, target } = await started();
  expect((await link.bind(target, aBind(), signal)).lacks).toBeUndefined();
});

test('a workspace that commands can write lacks nothing', async () => {
  const sandboxd = await started();
  expect(await lacks(sandboxd, [{ path: '.', access: 'write' }])).toEqual({ folders: [] });
});

test('each folder is reported with the errno that the command’s user gets', async () => {
  const sandboxd = await started();
  const readable = roots(sandboxd, 'readable', 0o755);
  const closed = roots(sandboxd, 'closed', 0o700);
  const file = join(sandboxd.workspace, 'file');
  writeFileSync(file, '');
  chownSync(file, policyUid, policyUid);
  const needed = [
    { path: readable, access: 'enter' },
    { path: readable, access: 'write' },
    { path: closed, access: 'enter' },
    { path: '/no/such', access: 'write' },
    { path: join(file, 'below'), access: 'write' },
  ] as const;
  expect(await lacks(sandboxd, needed)).toEqual({
    folders: [
      { index: 1, path: readable, errno: 'EACCES' },
      { index: 2, path: closed, errno: 'EACCES' },
      { index: 3, path: '/no/such', errno: 'ENOENT' },
      { index: 4, path: join(file, 'below'), errno: 'ENOTDIR' },
    ],
  });
});

test('a file in place of a folder is ENOTDIR, also behind a link', async () => {
  const sandboxd = await started();
  const file = join(sandboxd.workspace, 'file');
  writeFileSync(file, '');
  chmodSync(file, 0o777);
  symlinkSync(file, join(sandboxd.workspace, 'link'));
  const needed = ['file', 'link'].map((path) => ({ path, access: 'write' }) as const);
  const { folders = [] } = (await lacks(sandboxd, needed)) ?? {};
  expect(folders.map(({ errno }) => errno)).toEqual(['ENOTDIR', 'ENOTDIR']);
});

test('a folder to make may be absent where commands can create it, and only there', async () => {
  const sandboxd = await started();
  const readable = roots(sandboxd, 'readable', 0o755);
  const needed = [
    { path: join(sandboxd.workspace, 'logs/agent'), access: 'make' },
    { path: join(readable, 'logs'), access: 'make' },
  ] as const;
  expect(await lacks(sandboxd, needed)).toEqual({
    folders: [{ index: 1, path: join(readable, 'logs'), errno: 'EACCES' }],
  });
});

test('a user is absent, another one, or the one that commands run as', async () => {
  const sandboxd = await started();
  expect(await lacks(sandboxd, [], 'no-such-user')).toEqual({ folders: [], user: 'absent' });
  expect(await lacks(sandboxd, [], 'nobody')).toEqual({ folders: [], user: 'another' });
  expect(await lacks(sandboxd, [], String(policyUid))).toEqual({ folders: [] });
});

test('after the first call nothing lacks any more: the policy may have taken it away', async () => {
  const sandboxd = await started();
  const { link, target } = sandboxd;
  await link.bind(target, aBind(), signal);
  await link.call(target, callId('c1'), aShellCall('chmod 0500 .'), 10_000, signal);
  expect(await lacks(sandboxd, [{ path: '.', access: 'write' }])).toEqual({ folders: [] });
});
