import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { headers, nativeFile, nativeFolder } from './compile.ts';
import { nativePrograms } from '#src/protocol/sandboxd/payload-layout.ts';

let folder: string;
let open: number;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'corral-enter-'));
  open = openSync('/', 'r');
  const file = (name: string, text: string, mode = 0o755) => {
    writeFileSync(join(folder, name), text);
    chmodSync(join(folder, name), mode);
  };
  mkdirSync(join(folder, 'later'));
  file('words', 'echo "words $*"');
  file('private', '#!/bin/sh\n', 0o644);
  file('later/private', '#!/bin/sh\necho later\n');
  file('orphan', '#!/nothing\n');
});
afterAll(() => {
  closeSync(open);
  rmSync(folder, { recursive: true });
});

/** Runs it with `/` open as descriptors 4, 5 and 251, and descriptor 3 as its channel. */
function run(options: readonly string[], argv: readonly string[], path = '/usr/bin:/bin') {
  const stdio = Array.from({ length: 252 }, (_, descriptor) => stdioOf(descriptor));
  const env = { PATH: path, WORD: 'kept' };
  const { output, status } = spawnSync(nativeFile('enter', process.arch), [...options, '--', ...argv], {
    stdio,
    env,
  });
  return { out: String(output[1]), reason: String(output[3]), status };
}

function stdioOf(descriptor: number) {
  if (descriptor <= 3) return 'pipe';
  return descriptor <= 5 || descriptor === 251 ? open : 'ignore';
}

const sh = (script: string, ...options: readonly string[]) => run(options, ['/bin/sh', '-c', script]);

it('becomes the program, with its name, arguments, environment and exit code', () => {
  const { out, reason, status } = run(
    ['--status'],
    ['sh', '-c', 'echo "$0 $* $WORD"; exit 7', 'zero', 'one'],
  );
  expect({ out, reason, status }).toEqual({ out: 'zero one kept\n', reason: '', status: 7 });
});

describe('descriptors', () => {
  const seen = 'for each in 0 1 2 3 4 5 251; do [ -e /proc/$$/fd/$each ] && echo $each; done; :';
  it.each([
    [['--status'], ['0', '1', '2']],
    [[], ['0', '1', '2']],
    [
      ['--close-from', '5'],
      ['0', '1', '2', '3', '4'],
    ],
    [
      ['--close-from', '252'],
      ['0', '1', '2', '3', '4', '5', '251'],
    ],
  ])('with %j the program has %j', (options, left) => {
    expect(
      sh(seen, ...options)
        .out.trim()
        .split('\n'),
    ).toEqual(left);
  });
});

const holding = (...argv: readonly string[]) =>
  String(spawnSync('setpriv', ['--inh-caps', '+kill', '--', ...argv]).stdout);

it('no capability is inheritable in the program', () => {
  const sets = ['/bin/sh', '-c', 'grep ^CapInh /proc/self/status'];
  expect(holding(...sets)).toBe('CapInh:\t0000000000000020\n');
  expect(holding(nativeFile('enter', process.arch), '--', ...sets)).toBe('CapInh:\t0000000000000000\n');
});

describe('with --pipes', () => {
  it('streams are pipes that can be opened by name, and all of each passes', () => {
    const { out, reason, status } = sh(
      'echo err > /dev/stderr; [ -p /dev/stdin ] && [ -p /dev/stderr ] && seq 1 20000 > /dev/stdout; exit 7',
      '--status',
      '--pipes',
      '0',
    );
    expect({ reason, status, lines: out.split('\n').length }).toEqual({
      reason: '',
      status: 7,
      lines: 20_001,
    });
  });

  it('and --merge, both outputs are one in the order of writing', () => {
    const { out } = sh('for n in 1 2; do echo out $n; echo err $n >&2; done', '--pipes', '1', '--merge');
    expect(out).toBe('out 1\nerr 1\nout 2\nerr 2\n');
  });

  it('the program has no child and no descriptor beyond its streams', () => {
    // A shell starts no process for what it does by itself.
    const children = 'read -r children < /proc/$$/task/$$/children; echo "[$children]"';
    const open = 'for each in 3 4 5 6 7 8 9; do [ -e /proc/$$/fd/$each ] && echo $each; done; :';
    expect(sh(`${children}; ${open}`, '--status', '--pipes', '0').out).toBe('[]\n');
  });
});

it('sets folder, umask, priority, score and limit, and the filter with no new privileges', () => {
  const status = 'grep -E "^(NoNewPrivs|Seccomp):" /proc/self/status; grep processes /proc/self/limits';
  const options = `--cwd ${folder} --umask 027 --nice 10 --oom 700 --nproc 4000 --filter`.split(' ');
  const { out } = sh(`pwd; umask; nice; cat /proc/self/oom_score_adj; ${status}`, ...options);
  const lines = out.trim().split('\n');
  expect(lines.map((line) => line.split(/\s+/).join(' '))).toEqual([
    folder,
    '0027',
    '10',
    '700',
    'NoNewPrivs: 1',
    'Seccomp: 2',
    'Max processes 4000 4000 processes',
  ]);
});

describe('a program that cannot be run', () => {
  it.each([
    ['nowhere', 'program 2'],
    ['', 'program 2'],
    ['/nowhere', 'program 2'],
    ['/bin/sh/x', 'program 20'],
    ['private', 'program 13'],
    ['orphan', 'program 2'],
    ['.', 'program 13'],
    ['x'.repeat(300), 'program 36'],
  ])('%s: %s', (program, wanted) => {
    const { reason, status } = run(['--status'], [program], folder);
    expect({ reason, status }).toEqual({ reason: wanted, status: 127 });
  });

  it.each([
    ['/nowhere', 'folder 2'],
    ['/bin/sh', 'folder 20'],
  ])('in %s: %s', (cwd, wanted) => {
    expect(run(['--status', '--cwd', cwd], ['sh'])).toMatchObject({ reason: wanted, status: 127 });
  });

  it('under a root that does not exist: process 2', () => {
    expect(run(['--status', '--root', '/nowhere'], ['sh'])).toMatchObject({
      reason: 'process 2',
      status: 127,
    });
  });

  it('is no reason to write anywhere without --status', () => {
    expect(run([], ['nowhere'])).toEqual({ out: '', reason: '', status: 127 });
  });

  it.each([[['--no-such-option', 'x']], [['--cwd']]])('nor may an option be wrong: %j', (options) => {
    expect(run(['--status', ...options], ['sh'])).toMatchObject({ reason: 'process 22', status: 127 });
  });
});

describe('a program is looked for as execvp does', () => {
  it('in the folders of the PATH in order, past one that may not be run', () => {
    expect(run([], ['private'], `/nowhere:${folder}:${folder}/later`).out).toBe('later\n');
  });

  it('in the working folder, where the PATH has an empty one', () => {
    expect(run(['--cwd', folder], ['words', 'x'], '/nowhere:').out).toBe('words x\n');
  });

  it('past a folder of the PATH that is longer than any path', () => {
    expect(run([], ['words', 'x'], `/${'long'.repeat(2000)}:${folder}`).out).toBe('words x\n');
  });

  it('and a file that is no program is a script of the shell', () => {
    expect(run([], [join(folder, 'words'), 'one', 'two']).out).toBe('words one two\n');
  });
});

it('has files for both machines that payloads are made for', () => {
  for (const program of nativePrograms) {
    const machines = ['x64', 'arm64'].map((arch) => readFileSync(nativeFile(program, arch)).readUInt16LE(18));
    expect(machines).toEqual([62, 183]);
  }
});

it('has the headers that the rules for system calls make: else write them with `node infra/payload/native/main.ts`', () => {
  for (const [name, text] of Object.entries(headers()))
    expect(readFileSync(join(nativeFolder, name), 'utf8')).toBe(text);
});
