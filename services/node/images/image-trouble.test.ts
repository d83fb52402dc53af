import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createIdRanges } from '../own-ids.ts';
import { imageTrouble } from './image-trouble.ts';

let folder: string;
const { PATH } = process.env;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'corral-trouble-'));
  // A program of that name: which one it is says a pull.
  writeFileSync(join(folder, 'skopeo'), '#!/bin/sh\n', { mode: 0o755 });
  process.env['PATH'] = `${folder}:${PATH}`;
});
afterEach(() => {
  process.env['PATH'] = PATH;
  rmSync(folder, { recursive: true });
});

const ids = () => ({ idRanges: createIdRanges(0) });

it('a folder that cannot be made is a reason, and does not end this process', async () => {
  execFileSync('touch', [join(folder, 'file')]);
  const trouble = await imageTrouble(ids(), () => Promise.resolve(true), join(folder, 'file/images'));
  expect(trouble).toContain('CORRAL_IMAGE_DIR');
});

it('programs that are missing are named, with what to install', async () => {
  process.env['PATH'] = folder;
  const trouble = await imageTrouble(ids(), () => Promise.resolve(true), join(folder, 'images'));
  expect(trouble).toBe(
    'tar, gzip, find, xargs, awk, sed, flock are not installed (apt-get install tar gzip findutils mawk sed util-linux)',
  );
});

it('a folder whose owners can be shifted is none', async () => {
  expect(await imageTrouble(ids(), () => Promise.resolve(true), join(folder, 'images'))).toBeNull();
});
