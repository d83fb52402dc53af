import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { describeShared, findSharedArgv, type Shared } from './check-shared.ts';

const gibibyte = 1024 ** 3;
const inPod: Shared = {
  disks: [
    { place: '/workspace', bytes: 100 * gibibyte },
    { place: '/', bytes: 100 * gibibyte },
  ],
  largestFileBytes: gibibyte,
  uidMap: '0 0 4294967295',
  isWeakRoot: false,
  inotifyInstances: 128,
  cgroupVersion: 2,
};
const quota = [{ place: '/workspace', bytes: gibibyte }];
const ownIds = '0 165536 65536';

test.each([
  ['a pod of a plain node', inPod, /disk below \/workspace \(100 GiB\), \/ \(100 GiB\).*128 inotify/],
  ['volumes with a quota', { ...inPod, disks: quota }, /^the user ids of the node/],
  ['user namespaces', { ...inPod, uidMap: ownIds }, /^the disk below[^;]*discards; all 128 inotify/],
  ['version 1 of control groups', { ...inPod, cgroupVersion: 1 }, /memory of connections/],
  ['both', { ...inPod, disks: quota, uidMap: ownIds }, /^all 128 inotify instances[^;]*; next/],
  [
    'a root of the node',
    { ...inPod, isWeakRoot: true },
    /user ids of the node[^;]*; therefore its root cannot change owners/,
  ],
  ['one machine', { ...inPod, largestFileBytes: null, uidMap: ownIds }, /^nothing/],
])('what a sandbox shares with its machine: %s', (_what, found, expected) => {
  expect(describeShared(found)).toMatch(expected);
});

test('as text the probe needs nothing but a Node', async () => {
  // The payload's loader and Node come before the flags; any Node can replace them.
  const { stdout } = await promisify(execFile)(process.execPath, findSharedArgv().slice(4), { cwd: '/tmp' });
  expect(JSON.parse(stdout)).toMatchObject({
    uidMap: expect.stringMatching(/^\d{1,10} \d{1,10} \d{1,10}/) as string,
    isWeakRoot: expect.any(Boolean) as boolean,
  });
});
