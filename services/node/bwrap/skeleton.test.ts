import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makeSkeleton } from './skeleton.ts';

let at: string;
beforeEach(() => {
  at = mkdtempSync(join(tmpdir(), 'corral-skeleton-'));
  mkdirSync(join(at, 'image/etc'), { recursive: true });
});
afterEach(() => rmSync(at, { recursive: true }));

const preload = (root: string) => join(at, root, 'etc/ld.so.preload');

function make(): void {
  makeSkeleton(join(at, 'made'), {
    image: join(at, 'image'),
    user: { uid: 1000, gid: 1000 },
    idBase: process.getuid?.() ?? 0,
    mountPoints: [],
    folders: [],
    etc: {},
  });
}

it('what every program loads is the image’s, in a file that commands cannot write', () => {
  writeFileSync(preload('image'), '/opt/lib.so\n');
  make();
  expect(readFileSync(preload('made'), 'utf8')).toBe('/opt/lib.so\n');
});

it('a list of libraries that would fill this process’s memory counts as empty', () => {
  writeFileSync(preload('image'), 'x'.repeat(1024 * 1024 + 1));
  make();
  expect(readFileSync(preload('made'), 'utf8')).toBe('');
});

it('a link in its place is not followed', () => {
  writeFileSync(join(at, 'secret'), 'secret');
  symlinkSync(join(at, 'secret'), preload('image'));
  make();
  expect(() => readFileSync(preload('made'))).toThrow('ENOENT');
});
