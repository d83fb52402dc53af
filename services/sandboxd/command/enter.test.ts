import { describe, expect, it } from 'vitest';
import { sandboxdSettings } from '#test/fakes/sandboxd-settings.ts';
import { readConfig } from '../config.ts';
import { type ProcessRole, processUser } from '../users.ts';
import { type Entered, enterArguments, explainRefusal, parseRefusal, shellExit } from './enter.ts';

const settings = { ...sandboxdSettings, CORRAL_POLICY_PROCESSES: '64' };
const twoUsers = readConfig(settings, 0, '/');
const oneUser = readConfig({ ...settings, CORRAL_USERS: 'single-user' }, 1000, '/');

const entered = (role: ProcessRole, more: Partial<Entered> = {}, config = twoUsers): Entered => ({
  argv: ['program', '--uid', '0'],
  cwd: '/workspace',
  user: processUser(config, role),
  stdin: 'pipe',
  ...more,
});

/** Without the score, which depends on the one that this process has. */
function shown(start: Entered): string {
  return enterArguments(start)
    .join(' ')
    .replace(/ --oom \d+/, '');
}

const end = '-- program --uid 0';

describe('what a process gets on its way', () => {
  it.each([
    ['policy', '--umask 22 --cwd /workspace --gid 1000 --uid 1000 --nice 10 --pipes 0 --nproc 64'],
    ['grader', '--umask 77 --cwd /workspace --gid 1001 --uid 1001 --pipes 0'],
  ] as const)('%s: %s', (role, options) => {
    expect(shown(entered(role))).toBe(`--status --filter ${options} ${end}`);
  });

  it('is pipes for its output alone if it has no input, and one pipe if its streams are merged', () => {
    expect(shown(entered('policy', { stdin: 'nothing' }))).toContain(' --pipes 1 --nproc');
    expect(shown(entered('policy', { merge: true }))).toContain(' --pipes 0 --merge --nproc');
  });

  it('is neither a lower priority nor pipes for a helper, but places for its threads', () => {
    const options = shown(entered('policy', { isInternal: true }));
    expect(options).toContain('--uid 1000 --nproc 80 -- ');
    expect(options).not.toMatch(/--nice|--pipes/);
  });

  it('is no id and no limit where there is one user', () => {
    expect(shown(entered('policy', {}, oneUser))).toBe(
      `--status --filter --umask 22 --cwd /workspace --nice 10 --pipes 0 ${end}`,
    );
  });
});

it.each([
  ['program 2', { what: 'program', errno: 'ENOENT' }],
  ['folder 13', { what: 'folder', errno: 'EACCES' }],
  ['process 1', { what: 'process', errno: 'EPERM' }],
  ['', null],
  ['program', null],
  ['other 2', null],
  ['program 2\n3', null],
])('%j is read as %j', (text, refusal) => {
  expect(parseRefusal(text)).toEqual(refusal);
});

it.each([
  ['program', 'ENOENT', 'there is no program program'],
  ['program', 'ENOTDIR', 'there is no program program'],
  ['folder', 'ENOENT', 'there is no folder /workspace'],
  ['folder', 'ENOTDIR', '/workspace is not a folder'],
  ['program', 'EACCES', 'program may not be executed'],
  ['folder', 'EACCES', 'the folder /workspace may not be entered'],
  ['process', 'EAGAIN', 'the sandbox has no room for another process'],
  ['process', 'E2BIG', 'the arguments and variables of the command are too long together'],
  ['process', 'EPERM', 'program could not be started (EPERM)'],
])('%s %s: %s', (what, errno, sentence) => {
  expect(explainRefusal(what, errno, entered('policy'))).toBe(sentence);
});

it('an argument that is longer than Linux takes is named by its length, and no program of sandboxd is', () => {
  const argv = ['sh', '-c', 'ä'.repeat(70_000)];
  expect(explainRefusal('process', 'E2BIG', { ...entered('policy'), argv })).toBe(
    'an argument of the command, or its text, has 140000 bytes, and 131071 are the most: put it into a file',
  );
});

it.each([
  ['program', 'ENOENT', 127],
  ['program', 'ENOTDIR', 127],
  ['program', 'EACCES', 126],
  ['program', 'ENOMEM', null],
  ['folder', 'ENOENT', null],
  ['process', 'EACCES', null],
] as const)('a shell has for %s %s the exit code %s', (what, errno, exitCode) => {
  expect(shellExit(what, errno)).toBe(exitCode);
});
