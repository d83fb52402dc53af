import {
  chmodSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { matches } from '#src/protocol/sandboxd/path-pattern.ts';
import { isKept } from './host-settings.ts';
import type { RootStep } from './root-layout.ts';

/*
 * Packages keep the settings of programs in /etc: java ends at once without them, a font or a port's name is not found. Sandboxes with this
 * host's programs get copies, made when node starts, in one folder with a link to each. A mount of each would double what a start costs.
 */

/** Paths below /etc, whose names may have a `*`. No accounts, no keys, no names of this host, and nothing in which owners write passwords. */
const copied = [
  'ImageMagick-*',
  'OpenCL',
  'R',
  'X11/rgb.txt',
  'debian_version',
  'dictionaries-common',
  'erlang',
  'fonts',
  'gai.conf',
  'ghostscript',
  'glvnd',
  'groff',
  'gtk-*',
  'host.conf',
  'inputrc',
  'java',
  'java-*',
  'locale.alias',
  'lsb-release',
  'magic',
  'magic.mime',
  'mailcap',
  // Not its settings.xml, which has the passwords of registries.
  'maven/logging',
  'maven/m2.conf',
  'mono',
  'openmpi',
  'papersize',
  'paperspecs',
  'perl',
  'php/*/cli',
  'php/*/mods-available',
  'protocols',
  'python*',
  'rpc',
  'services',
  'sgml',
  'shells',
  'texmf',
  'timezone',
  'vulkan',
  'xml',
] as const;

const mostBytes = 32 * 1024 * 1024;
const deepest = 8;
const readableByAll = 0o004;

/** Where the copies are in a sandbox. */
export const copiesPlace = '/etc/.host';

/** Copies from `etc` into `folder`, which is replaced. What others may not read, and secrets by their names, stay out. */
export function copyHostEtc(folder: string, etc = '/etc'): void {
  rmSync(folder, { recursive: true, force: true });
  makeFolder(folder);
  const room = { bytes: mostBytes };
  for (const pattern of copied)
    for (const path of found(etc, pattern)) {
      for (const above of foldersAbove(path)) makeFolder(join(folder, above));
      copy(join(etc, path), join(folder, path), room, deepest);
    }
}

/** One link for each name that has copies, unless the template mounts something there. */
export function linksToCopies(folder: string, targets: readonly string[]): readonly RootStep[] {
  const links = namesIn(folder)
    .map(
      (name) =>
        ({ kind: 'link', to: join(basename(copiesPlace), name), target: join('/etc', name) }) as const,
    )
    .filter(({ target }) => !targets.some((each) => each === '/etc' || `${each}/`.startsWith(`${target}/`)));
  return links.length === 0 ? [] : [{ kind: 'folder', target: '/etc' }, ...links];
}

const makeFolder = (path: string) => {
  mkdirSync(path, { recursive: true });
  // Whatever our umask is: a sandbox's ids belong to no user here.
  chmodSync(path, 0o755);
};

function foldersAbove(path: string): readonly string[] {
  const above = dirname(path);
  return above === '.' ? [] : [...foldersAbove(above), above];
}

function found(etc: string, pattern: string): readonly string[] {
  return pattern.split('/').reduce(
    (paths: readonly string[], name) =>
      paths.flatMap((path) =>
        namesIn(join(etc, path))
          .filter((each) => matches(name, each))
          .map((each) => join(path, each)),
      ),
    [''],
  );
}

function copy(from: string, to: string, room: { bytes: number }, depth: number): void {
  const entry = lstatSync(from, { throwIfNoEntry: false });
  if (entry === undefined) return;
  if (entry.isSymbolicLink()) return symlinkSync(readlinkSync(from), to);
  if (isKept(from, entry.isDirectory() ? 'folder' : 'file') || (entry.mode & readableByAll) === 0) return;
  if (entry.isDirectory()) {
    makeFolder(to);
    if (depth > 0) for (const name of namesIn(from)) copy(join(from, name), join(to, name), room, depth - 1);
  } else if (entry.isFile() && entry.size <= room.bytes) {
    room.bytes -= entry.size;
    copyFileSync(from, to);
    chmodSync(to, 0o644 | (entry.mode & 0o111));
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).toSorted();
  } catch {
    return [];
  }
}
