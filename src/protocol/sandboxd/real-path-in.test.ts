import { mkdirSync, mkdtempSync, readlinkSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { realPathIn } from './real-path-in.ts';

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'corral-root-'));
  mkdirSync(join(root, 'srv/app/bin'), { recursive: true });
  const links = { app: '/srv/app', tool: 'srv/../app/bin', out: '../../../etc', one: 'two', two: '/one' };
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(root, name));
});
afterAll(() => rmSync(root, { recursive: true }));

it.each([
  ['/srv/app', '/srv/app'],
  ['/srv//app/./bin/', '/srv/app/bin'],
  ['/app/bin', '/srv/app/bin'],
  ['/tool', '/srv/app/bin'],
  ['/tool/..', '/srv/app'],
  ['/app/new/file', '/srv/app/new/file'],
  ['/out', '/etc'],
  ['/../..', '/'],
  ['/', '/'],
  ['/one/x', null],
])('%s leads to %s', (path, real) => {
  expect(realPathIn(root, path, readlinkSync)).toBe(real);
});
