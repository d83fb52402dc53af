import { describe, expect, it, test } from 'vitest';
import { comparableOf } from './comparable.ts';

const home = '/home/dev';
const compared = (
  workspace: string,
  below: readonly string[],
  except: readonly string[] = [],
  inHome = home,
) => comparableOf({ workspace, homes: ['/root', '/home', inHome], below, except });

test.each([
  '/',
  '/usr',
  '/usr/local/lib',
  '/etc/app',
  '/opt/app',
  '/root',
  '/home',
  '/home/dev',
  '/srv/home',
  '/proc/1',
  '/lib64',
  '..',
])('%s is never compared', (folder) => {
  expect(() => compared('/testbed', [folder], [], '/srv/home')).toThrow('cannot be compared');
});

test.each(['/usr/src/app', '/opt/app'])('the workspace is not compared if it is %s', (workspace) => {
  expect(() => compared(workspace, ['.'])).toThrow('cannot be compared');
});

describe('of a folder', () => {
  const { below, isLeftOut } = compared(
    '/testbed',
    ['.', 'src', '/data'],
    ['.git', '*.log', '/testbed/out/*'],
  );

  it('what lies in another one is compared once', () => {
    expect(below).toEqual(['/testbed', '/data']);
  });

  test.each([
    '.git',
    'src/.git',
    'a.log',
    'deep/b.log',
    'out/x',
    'sitecustomize.py',
    'lib/usercustomize',
    'x.pth',
  ])('%s is left out', (path) => {
    expect(isLeftOut(`/testbed/${path}`)).toBe(true);
  });

  test.each(['.gitignore', 'out', 'src/out/x', '.env', 'conftest.py', 'log'])('%s is compared', (path) => {
    expect(isLeftOut(`/testbed/${path}`)).toBe(false);
  });
});

describe('of a workspace in a home', () => {
  test.each([
    ['/home/dev', '.bashrc', true],
    ['/home/dev', '.local/bin/x', true],
    ['/home/dev', 'src/.eslintrc', false],
    [`${home}/project`, '.env', true],
    [`${home}/project`, 'main.py', false],
    ['/root', '.profile', true],
  ])('%s: %s is left out: %s', (workspace, path, isOut) => {
    const { isLeftOut } = compared(workspace, ['.']);
    // A walk does not enter what is left out.
    const steps = path.split('/').map((_, index, all) => `${workspace}/${all.slice(0, index + 1).join('/')}`);
    expect(steps.some(isLeftOut)).toBe(isOut);
  });

  it('nothing next to it is compared', () => {
    expect(compared(`${home}/project`, ['.']).isLeftOut(`${home}/other`)).toBe(true);
  });
});
