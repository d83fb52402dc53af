import { type Dirent, readdirSync } from 'node:fs';
import { join } from 'node:path';

export type Found = { readonly path: string; readonly isFolder: boolean; readonly isFile: boolean };

/**
 * Everything below a folder down to `depth` levels, each folder before its content, sorted by name in byte order so that
 * the same tree always gives the same text. Links are named, never followed. Throws when `folder` itself cannot be read;
 * folders below that cannot be read are passed over.
 */
export function* walk(folder: string, depth: number, skip: (path: string) => boolean): Iterable<Found> {
  for (const entry of sorted(readdirSync(folder, { withFileTypes: true }))) {
    const path = folder === '.' ? entry.name : join(folder, entry.name);
    if (skip(path)) continue;
    yield { path, isFolder: entry.isDirectory(), isFile: entry.isFile() };
    if (entry.isDirectory() && depth > 1) yield* walkReadable(path, depth - 1, skip);
  }
}

function* walkReadable(folder: string, depth: number, skip: (path: string) => boolean): Iterable<Found> {
  try {
    yield* walk(folder, depth, skip);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
  }
}

function sorted(entries: readonly Dirent[]): readonly Dirent[] {
  return entries.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
