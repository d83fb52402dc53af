import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { behindSandboxd } from './behind-sandboxd.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'corral-programs-'));
  chmodSync(folder, 0o755);
  mkdirSync(join(folder, 'closed'), { mode: 0o700 });
  const file = (name: string, text: string, mode = 0o755) => {
    writeFileSync(join(folder, name), text);
    chmodSync(join(folder, name), mode);
  };
  file('behind', '\u007FELF');
  file('program', '\u007FELF');
  file('closed/program', '\u007FELF');
  file('private', '\u007FELF', 0o700);
  file('words', 'echo words');
  file('script', `#! ${folder}/program -x\n`);
  file('orphan', '#!/nothing\n');
  file('of-script', `#!${folder}/script\n`);
  file('of-itself', `#!${folder}/of-itself\n`);
  file('relative', '#!program\n');
  file('empty', '');
  execFileSync('sh', ['-c', 'mkfifo -m 755 "$0"', join(folder, 'pipe')]);
  symlinkSync('/proc/self/stat', join(folder, 'made-up'));
  symlinkSync('loop', join(folder, 'loop'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const started = (program: string, payload: string | null = folder) =>
  behindSandboxd({ argv: [program, 'x'], cwd: folder, env: { PATH: `/nowhere:${folder}` } }, { payload })
    .argv;

it.each(['program', './program', 'script'])('%s runs behind sandboxd, and keeps its name', (program) => {
  const path = join(folder, program);
  expect(started(program)).toEqual([join(folder, 'behind'), path, program, 'x']);
});

const mightNot = [
  'missing',
  'private',
  'closed/program',
  'words',
  'orphan',
  'relative',
  'of-script',
  'of-itself',
  'empty',
  'pipe',
];

it.each([...mightNot, 'made-up', 'loop', '.', ''])(
  '`%s`, which might not start, begins as it is, so that the kernel says why it does not',
  (program) => expect(started(program)).toEqual([program, 'x']),
);

it('a program that is the command’s own comes first in its PATH, and no other is run in its place', () => {
  writeFileSync(join(folder, 'closed/script'), '#!/bin/sh\n', { mode: 0o700 });
  const env = { PATH: `${folder}/closed:${folder}` };
  const start = { argv: ['script'], cwd: folder, env };
  expect(behindSandboxd(start, { payload: folder })).toBe(start);
});

it('an empty folder of the PATH is the one in which it starts', () => {
  const argvIn = (cwd: string) =>
    behindSandboxd({ argv: ['sh'], cwd, env: { PATH: ':/bin' } }, { payload: folder }).argv;
  writeFileSync(join(folder, 'sh'), 'not a program', { mode: 0o755 });
  expect(argvIn(folder)).toEqual(['sh']);
  expect(argvIn('/')).toEqual([join(folder, 'behind'), '/bin/sh', 'sh']);
});

it('a program that is far down in an endless PATH begins as it is', () => {
  const env = { PATH: `${'/nowhere:'.repeat(64)}${folder}` };
  const start = { argv: ['program'], cwd: folder, env };
  expect(behindSandboxd(start, { payload: folder })).toBe(start);
});

it('without a payload, and with one that lacks the program for it, everything begins as it is', () => {
  expect(started('program', null)).toEqual(['program', 'x']);
  expect(started('program', '/nowhere')).toEqual(['program', 'x']);
});
