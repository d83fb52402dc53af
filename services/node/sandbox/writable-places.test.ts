import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { hostSettings } from '../image/read-image.ts';
import { writablePlaces } from './writable-places.ts';

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'corral-places-'));
  for (const folder of ['var/tmp', 'home/dev', 'home/full', 'home/run', 'srv'])
    mkdirSync(join(root, folder), { recursive: true });
  writeFileSync(join(root, 'home/dev/.profile'), 'greet\n');
  chmodSync(join(root, 'home/dev'), 0o755);
  writeFileSync(join(root, 'home/full/grade.py'), '');
  mkdirSync(join(root, 'home/run/.local'));
  symlinkSync('home', join(root, 'people'));
});
afterAll(() => rmSync(root, { recursive: true }));

const nothingMounted = { data: [] };
const homeOf = (home: string, users: 'two-user' | 'root' = 'two-user') =>
  writablePlaces(nothingMounted, users, root, { home }).find(({ name }) => name === 'home');

it('with the host’s programs they are workspace, temporary folders and a home of its own', () => {
  const found = writablePlaces(
    { ...nothingMounted, folders: ['/logs'] },
    'two-user',
    null,
    hostSettings('user'),
  );
  expect(found.map(({ target, mode, owner }) => `${target} ${mode.toString(8)} ${owner}`)).toEqual([
    '/workspace 770 user',
    '/tmp 1777 root',
    '/var/tmp 1777 root',
    '/home/policy 700 user',
    '/logs 770 user',
  ]);
});

it('where commands are root, others may enter the workspace', () => {
  expect(writablePlaces(nothingMounted, 'root', null, hostSettings('root'))).toMatchObject([
    { target: '/workspace', mode: 0o755 },
    {},
    {},
    { target: '/root', mode: 0o700 },
  ]);
});

it('an image’s home keeps its files and its mode, and is closed to a grader', () => {
  expect(homeOf('/home/dev')).toMatchObject({ mode: 0o750, filledFrom: join(root, 'home/dev') });
  expect(homeOf('/home/dev', 'root')).toMatchObject({ mode: 0o755 });
  expect(homeOf('/home/full', 'root')).toMatchObject({ filledFrom: join(root, 'home/full') });
  expect(homeOf('/home/new')).toMatchObject({ mode: 0o700, filledFrom: null });
});

it.each([
  ['that holds programs or their files', '/home/full'],
  ['that holds folders', '/home/run'],
  ['below a link', '/people/dev'],
  ['that is the root', '/'],
  ['in the workspace', '/workspace/me'],
  ['in a temporary folder', '/tmp'],
  ['of the kernel', '/proc/self'],
])('a home %s stays as it is', (_, home) => {
  expect(homeOf(home)).toBeUndefined();
});

const home = '/home/dev';
it.each([
  ['/var', ['workspace', 'tmp', 'home', 'folder-0']],
  ['/home', ['workspace', 'tmp', 'var-tmp', 'folder-0']],
  [`${home}/out`, ['workspace', 'tmp', 'var-tmp', 'home', 'folder-0']],
])('what the template has at %s is the template’s', (folder, names) => {
  const found = writablePlaces({ ...nothingMounted, folders: [folder] }, 'two-user', root, {
    home,
  });
  expect(found.map(({ name }) => name)).toEqual(names);
});

it('an image whose /var is a link has no /var/tmp to write', () => {
  const linked = join(root, 'srv');
  symlinkSync('/elsewhere', join(linked, 'var'));
  expect(writablePlaces(nothingMounted, 'two-user', linked, { home: '/' }).map(({ name }) => name)).toEqual([
    'workspace',
    'tmp',
  ]);
});

it('where commands are root, a home is too large to be copied from some hundred files or a few MiB on', () => {
  for (const folder of ['home/many', 'home/large', 'home/odd']) mkdirSync(join(root, folder));
  for (let index = 0; index <= 500; index += 1) writeFileSync(join(root, 'home/many', String(index)), '');
  writeFileSync(join(root, 'home/large/file'), '');
  truncateSync(join(root, 'home/large/file'), 5 * 1024 * 1024);
  execFileSync('mkfifo', [join(root, 'home/odd/pipe')]);
  expect(['many', 'large', 'odd', 'run'].map((name) => homeOf(`/home/${name}`, 'root')?.name)).toEqual([
    undefined,
    undefined,
    undefined,
    'home',
  ]);
});
