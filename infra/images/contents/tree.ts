import { lstat, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Entry } from '../oci/tar.ts';

/** Everybody may read every file of ours, and enter every folder: commands and services have other ids than root. */
const folderMode = 0o755;
const executable = 0o755;
const readable = 0o644;

/** All files below a folder of this machine, as they shall lie below `target`; folders in between are named too. */
export async function tree(source: string, target: string): Promise<readonly Entry[]> {
  const found = await readdir(source, { recursive: true, withFileTypes: true });
  const paths = found.map(({ parentPath, name }) => join(parentPath, name).slice(source.length + 1));
  return Promise.all(paths.map((path) => entryOf(join(source, path), join(target, path))));
}

async function entryOf(source: string, path: string): Promise<Entry> {
  const stats = await lstat(source);
  if (stats.isDirectory()) return { kind: 'folder', path, mode: folderMode };
  if (stats.isSymbolicLink()) return { kind: 'link', path, to: await readlink(source) };
  return fileEntry(source, path, (stats.mode & 0o111) !== 0);
}

export function fileEntry(source: string, path: string, runs: boolean): Entry {
  return { kind: 'file', path, mode: runs ? executable : readable, source };
}

/** A layer of these entries: every folder above them is there, and nothing is there twice. */
export function layer(entries: readonly Entry[]): readonly Entry[] {
  const byPath = new Map<string, Entry>();
  for (const entry of entries) {
    for (const path of foldersAbove(entry.path)) {
      if (!byPath.has(path)) byPath.set(path, { kind: 'folder', path, mode: folderMode });
    }
    byPath.set(entry.path, entry);
  }
  return [...byPath.values()];
}

function foldersAbove(path: string): readonly string[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}
