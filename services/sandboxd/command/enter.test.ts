import { describe, expect, it } from 'vitest';
import { sandboxdSettings } from '#test/fakes/sandboxd-settings.ts';
import { readConfig } from '../config.ts';
import { type ProcessRole, processUser } from '../users.ts';
import { type Entered, enterArguments, explainRefusal, parseRefusal } from './enter.ts';

const settings = { ...sandboxdSettings, CORRAL_POLICY_PROCESSES: '64' };
const twoUsers = readConfig(settings, 0, '/');
const oneUser = readConfig({ ...settings, CORRAL_USERS: 'single-user' }, 1000, '/');

const entered = (role: ProcessRole, more: Partial<Entered> = {}, config = twoUsers): Entered => ({
  argv: ['program', '--uid', '0'],
  cwd: '/workspace',
  user: processUser(config, role),
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
    ['policy', '--umask 22 --cwd /workspace --gid 1000 --uid 1000 --nice 10 --nproc 64'],
    ['grader', '--umask 77 --cwd /workspace --gid 1001 --uid 1001'],
    ['queries', '--umask 77 --cwd /workspace --gid 1002 --uid 1002'],
  ] as const)('%s: %s', (role, options) => {
    expect(shown(entered(role))).toBe(`--status --filter ${options} ${end}`);
  });

  it('is no lower priority for a helper, and places for its threads', () => {
    const options = shown(entered('policy', { isInternal: true }));
    expect(options).toContain('--uid 1000 --nproc 80 -- ');
    expect(options).not.toContain('--nice');
  });

  it('is no id and no limit where there is one user', () => {
    expect(shown(entered('policy', {}, oneUser))).toBe(
      `--status --filter --umask 22 --cwd /workspace --nice 10 ${end}`,
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
  ['program', 'EACCES', 'program may not be executed, or /workspace may not be entered'],
  ['process', 'EAGAIN', 'the sandbox has no room for another process'],
  ['process', 'E2BIG', 'the arguments of program are too long'],
  ['process', 'EPERM', 'program could not be started (EPERM)'],
])('%s %s: %s', (what, errno, sentence) => {
  expect(explainRefusal(what, errno, entered('policy'))).toBe(sentence);
});
