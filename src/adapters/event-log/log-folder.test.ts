import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemRandom } from '#src/platform/random.ts';
import { logIdOf } from './log-folder.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'corral-log-id-'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

test('processes that begin a folder at once agree on its name, as does whoever comes back to it', async () => {
  const folder = join(root, 'events');
  const ids = await Promise.all(Array.from({ length: 20 }, () => logIdOf(folder, systemRandom)));
  expect(new Set([...ids, await logIdOf(folder, systemRandom)]).size).toBe(1);
  expect(await readdir(folder)).toEqual(['log-id']);
  expect(await logIdOf(join(root, 'another'), systemRandom)).not.toBe(ids[0]);
});

test('a folder that cannot be used has a name all the same', async () => {
  const file = join(root, 'file');
  await writeFile(file, '');
  expect(await logIdOf(join(file, 'events'), systemRandom)).toMatch(/^[0-9a-z]{16}$/);
});
