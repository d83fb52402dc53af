import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { behindProgram, steps } from './behind.ts';

let folder: string;
let behind: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'corral-behind-'));
  behind = join(folder, 'behind');
  writeFileSync(behind, behindProgram(process.arch), { mode: 0o755 });
});
afterAll(() => rmSync(folder, { recursive: true }));

const run = (...args: readonly string[]) =>
  spawnSync(behind, args, { encoding: 'utf8', env: { PATH: '/usr/bin:/bin', WORD: 'kept' } });

it('becomes the program, with its name, arguments and environment, in the same process and nicer', () => {
  const script = 'echo "$0 $* $WORD"; cut -d " " -f 19 /proc/self/stat; tr "\\0" " " < /proc/$$/cmdline';
  const { stdout, status } = run('/bin/sh', 'shell', '-c', script, 'zero', 'one', 'two');
  expect(stdout.split('\n').slice(0, 2)).toEqual(['zero one two kept', String(steps)]);
  expect(stdout).toContain('shell -c echo');
  expect(status).toBe(0);
});

it('closes every descriptor but 0 to 2', () => {
  const open = openSync('/', 'r');
  const script = 'for each in 0 1 2 3 4; do [ -e /proc/$$/fd/$each ] && echo $each; done; :';
  const stdio = ['pipe' as const, 'pipe' as const, 'pipe' as const, open, open];
  const { stdout } = spawnSync(behind, ['/bin/sh', 'sh', '-c', script], { stdio });
  closeSync(open);
  expect(stdout.toString()).toBe('0\n1\n2\n');
});

it.each([['/nowhere', 'nowhere'], []])('ends with 127 where there is nothing to become: %j', (...args) => {
  expect(run(...args).status).toBe(127);
});

const machineOf = (arch: string) => behindProgram(arch).readUInt16LE(18);

it('is a program for both machines that payloads are made for, and for no other', () => {
  expect([machineOf('x64'), machineOf('arm64')]).toEqual([62, 183]);
  expect(() => behindProgram('ia32')).toThrow(/no payload for ia32/);
});
