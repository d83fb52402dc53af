import { mkdtemp, open, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ensureFleetKeys, parseFleetKeys, readFleetKeys } from './fleet-key-file.ts';

let path = '';
beforeEach(async () => {
  path = join(await mkdtemp(join(tmpdir(), 'corral-key-')), 'fleet.key');
});
afterEach(() => rm(dirname(path), { recursive: true }));

test('many processes that make the key at once all get the same one, in a file only its owner reads', async () => {
  const keys = await Promise.all(Array.from({ length: 8 }, () => ensureFleetKeys(path)));
  expect(new Set(keys.map((one) => one.current)).size).toBe(1);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await readdir(dirname(path))).toEqual(['fleet.key']);
});

test('a key file that is there is only read: nothing is written beside it', async () => {
  await writeFile(path, 'ab'.repeat(32));
  const file = await open(path);
  // Nobody, root neither, can make a file in this folder; whoever tries fails.
  const keys = await ensureFleetKeys(`/proc/self/fd/${file.fd}`);
  await file.close();
  expect(keys).toEqual({ current: 'ab'.repeat(32), other: null });
});

test('a key file that is not there, in a folder where nothing can be made, is told with what to do', async () => {
  await expect(ensureFleetKeys('/proc/self/fleet.key')).rejects.toThrow('mount the Secret that has it');
});

test('two keys are the current one and the other one while keys are rotated', () => {
  const [current, other] = ['ab'.repeat(32), 'cd'.repeat(32)];
  expect(parseFleetKeys(`# rotated in May\n${current}\n${other}\n`)).toEqual({ current, other });
});

test('the same key twice is refused: nobody could tell which one a sandbox was made under', () => {
  const key = 'ab'.repeat(32);
  expect(() => parseFleetKeys(`${key}\n${key}`)).toThrow('cannot be told apart');
});

test('a key that is too short, or a third one, is refused with what to do', async () => {
  expect(() => parseFleetKeys('abc')).toThrow('openssl rand -hex 32');
  expect(() => parseFleetKeys('')).toThrow('has one key, or two');
  await writeFile(path, 'abc');
  await expect(readFleetKeys(path)).rejects.toThrow(`the fleet key file ${path} cannot be used`);
});
