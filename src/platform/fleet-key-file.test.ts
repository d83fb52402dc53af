import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
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

test('two keys are the current one and the one being rotated out', () => {
  const [current, previous] = ['ab'.repeat(32), 'cd'.repeat(32)];
  expect(parseFleetKeys(`# rotated in May\n${current}\n${previous}\n`)).toEqual({ current, previous });
});

test('a key that is too short, or a third one, is refused with what to do', async () => {
  expect(() => parseFleetKeys('abc')).toThrow('openssl rand -hex 32');
  expect(() => parseFleetKeys('')).toThrow('has one key, or two');
  await writeFile(path, 'abc');
  await expect(readFleetKeys(path)).rejects.toThrow(`the fleet key file ${path} cannot be used`);
});
