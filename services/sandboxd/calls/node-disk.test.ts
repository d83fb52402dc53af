import { expect, test } from 'vitest';
import { sandboxdSettings } from '#test/fakes/sandboxd-settings.ts';
import { readConfig } from '../config.ts';
import { isAnyFull, isNodesAndFull } from './node-disk.ts';

const config = readConfig({ ...sandboxdSettings, CORRAL_USERS: 'single-user' }, 1000, '/');

/** 100 GiB in blocks of 4 KiB, half full. */
const node = { bsize: 4096, blocks: 26_214_400, bavail: 13_107_200, files: 6_553_600, ffree: 6_000_000 };

test.each([
  ['half full', node, false],
  ['without blocks for users', { ...node, bavail: 0 }, true],
  ['with less than 1 % of its blocks', { ...node, bavail: 262_143 }, true],
  ['with 1 % of its blocks', { ...node, bavail: 262_144 }, false],
  ['without inodes', { ...node, ffree: 10 }, true],
  ['that counts no inodes, as btrfs', { ...node, files: 0, ffree: 0 }, false],
  ['of the sandbox’s own size', { ...node, blocks: 262_144, bavail: 0 }, false],
] as const)('a disk %s', (_state, disk, expected) => {
  expect(isNodesAndFull(disk, 1024)).toBe(expected);
});

test('a sandbox with a disk of its own shares none', async () => {
  expect(await isAnyFull({ ...config, ownDiskMebibytes: null })).toBe(false);
});

test('a folder that is gone does not fail the call', async () => {
  const disks = { ...config, ownDiskMebibytes: 1, workspace: '/nowhere/at/all' };
  await expect(isAnyFull(disks)).resolves.toBeTypeOf('boolean');
});
