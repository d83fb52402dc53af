import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { closeFromProgram } from './close-from.ts';

let folder: string;
let closeFrom: string;
let open: number;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'corral-close-from-'));
  closeFrom = join(folder, 'close-from');
  writeFileSync(closeFrom, closeFromProgram(process.arch), { mode: 0o755 });
  open = openSync('/', 'r');
});
afterAll(() => {
  closeSync(open);
  rmSync(folder, { recursive: true });
});

/** Starts a program through it with `/` open as descriptors 3 to 5 and as 251. */
function run(...args: readonly string[]) {
  const stdio = Array.from({ length: 252 }, (_, descriptor) => stdioOf(descriptor));
  return spawnSync(closeFrom, args, { stdio, env: { PATH: '/usr/bin:/bin', WORD: 'kept' } });
}

function stdioOf(descriptor: number) {
  if (descriptor < 3) return 'pipe';
  return descriptor <= 5 || descriptor === 251 ? open : 'ignore';
}

/** What a shell says is open in it, of these; the shell opens no descriptor itself. */
function seen(first: string): readonly string[] {
  const script = 'for each in 0 1 2 3 4 5 251; do [ -e /proc/$$/fd/$each ] && echo $each; done; :';
  return run(first, '/bin/sh', 'sh', '-c', script).stdout.toString().trim().split('\n');
}

it.each([
  ['3', ['0', '1', '2']],
  ['5', ['0', '1', '2', '3', '4']],
])('descriptors from %s on do not reach the program', (first, left) => {
  expect(seen(first)).toEqual(left);
});

it('descriptors before the first one reach it, which shows that the others would have', () => {
  expect(seen('6')).toEqual(['0', '1', '2', '3', '4', '5']);
});

it('becomes the program, with its name, arguments and environment', () => {
  const { stdout, status } = run(
    '3',
    '/bin/sh',
    'shell',
    '-c',
    'echo "$0 $* $WORD"; exit 7',
    'zero',
    'one',
    'two',
  );
  expect([stdout.toString(), status]).toEqual(['zero one two kept\n', 7]);
});

it('ends with 127 if the program cannot be run', () => {
  expect(run('3', '/nowhere', 'nowhere').status).toBe(127);
});

it('exists for both machines that payloads are made for, and for no other', () => {
  expect(['x64', 'arm64'].map((arch) => closeFromProgram(arch).readUInt16LE(18))).toEqual([62, 183]);
  expect(() => closeFromProgram('ia32')).toThrow(/no payload for ia32/);
});
