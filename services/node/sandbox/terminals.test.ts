import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makeRoomForTerminals } from './terminals.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-pty-'));
  await writeFile(join(folder, 'reserve'), '1024\n');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const most = () => readFile(join(folder, 'max'), 'utf8');

it('a machine with too few pseudo terminals for all sandboxes gets more', async () => {
  await writeFile(join(folder, 'max'), '4096\n');
  expect(await makeRoomForTerminals(folder)).toBe(0);
  expect(await most()).toBe('130048\n');
});

it('a machine with more of them keeps its setting', async () => {
  await writeFile(join(folder, 'max'), '1048576\n');
  expect(await makeRoomForTerminals(folder)).toBe(0);
  expect(await most()).toBe('1048576\n');
});

it('a kernel without the setting lacks none', async () => {
  expect(await makeRoomForTerminals(join(folder, 'nothing'))).toBe(0);
});
