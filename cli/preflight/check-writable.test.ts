import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findWritable, findWritableArgv, judgeWritable } from './check-writable.ts';

const run = promisify(execFile);

let root = '';
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'corral-'));
  for (const folder of ['bin', 'lib/python3/site-packages', 'own/deep'])
    mkdirSync(join(root, folder), { recursive: true });
  writeFileSync(join(root, 'bin/python3'), '');
});
afterAll(() => rmSync(root, { recursive: true }));

const found = (most = 100) =>
  findWritable([join(root, 'own')], most, 10_000, join(root, 'graders'), root, join(root, 'bin'));

test('every folder that may be written is found, but for those that are expected, and the programs on PATH', () => {
  const { folders, onPath, cutOff, gradersApart } = found();
  const below = ['', '/bin', '/lib', '/lib/python3', '/lib/python3/site-packages'].map(
    (at) => `${root}${at}`,
  );
  expect([...folders].sort()).toEqual(below);
  expect(onPath).toEqual([`${root}/bin`, `${root}/bin/python3`]);
  expect({ cutOff, gradersApart }).toEqual({ cutOff: false, gradersApart: false });
});

test('a walk that finds more than anybody reads says that there is more', () => {
  expect(found(2)).toMatchObject({ folders: { length: 2 }, cutOff: true });
});

test('as text it needs nothing but a Node', async () => {
  // The payload's loader and Node stand before the flags; any Node may stand in their place.
  const { stdout } = await run(process.execPath, findWritableArgv().slice(4), {
    cwd: root,
    env: { PATH: '/nowhere' },
  });
  expect(JSON.parse(stdout)).toMatchObject({ uid: process.getuid?.(), onPath: [] });
});

test.each([
  ['nothing', { folders: [], onPath: [] }, true, 'its workspace and temporary folders only'],
  [
    'an interpreter’s prefix',
    { folders: ['/opt/venv/lib'], onPath: [] },
    true,
    '/opt/venv/lib; a grader must not run or read',
  ],
  [
    'a folder on PATH',
    { folders: ['/opt/bin'], onPath: ['/opt/bin'] },
    false,
    'programs on PATH: /opt/bin; a grader must not',
  ],
  [
    'a folder on PATH, and graders have a root of their own',
    { folders: ['/opt/bin'], onPath: ['/opt/bin'], gradersApart: true },
    true,
    'graders see of that only the workspace and sandbox.folders',
  ],
  [
    'everything, as root',
    { folders: ['/'], onPath: ['/bin'], uid: 0 },
    true,
    'everything: commands run as root',
  ],
])('where the policy can write %s', (_what, given, ok, detail) => {
  const judged = judgeWritable({ uid: 1000, cutOff: false, gradersApart: false, ...given });
  expect(judged).toEqual({ ok, detail: expect.stringContaining(detail) });
});
