import {
  chmodSync,
  closeSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type ReadEntry, readTar, TarError } from '#src/protocol/sandboxd/tar.ts';
import { reportErrno } from './print.ts';

/**
 * Unpacks a tar from stdin below a folder, which is made where it is not there. All of it is done as the user that asked:
 * whatever an archive names, or whatever link the policy has put in its way, leads no further than its own commands do.
 * Each file appears whole or not at all; of an archive that breaks off, what came before stays. Returns the exit code.
 */
export async function tarIn(folder: string): Promise<0 | 1> {
  const root = resolve(folder);
  const unpacked = { bytes: 0, entries: 0 };
  // Told at the end, so that a folder that nobody may write in can be filled.
  const folderModes = new Map<string, number>();
  try {
    mkdirSync(root, { recursive: true });
    for await (const entry of readTar(process.stdin)) {
      const path = pathBelow(root, entry.path);
      if (path === root) continue;
      mkdirSync(dirname(path), { recursive: true });
      await place(entry, path, root);
      if (entry.kind === 'folder') folderModes.set(path, entry.mode);
      unpacked.entries += 1;
      unpacked.bytes += entry.bytes;
    }
    for (const [path, mode] of [...folderModes].toReversed()) chmodSync(path, mode);
    process.stdout.write(JSON.stringify(unpacked));
    return 0;
  } catch (error) {
    return reportErrno(error);
  }
}

/** `/a/b` and `./a/b` are `a/b`, as for every tar; out of the folder nothing leads. */
function pathBelow(root: string, path: string): string {
  if (path.split('/').includes('..')) throw new TarError(`${path} leads out of the folder`);
  return resolve(root, `./${path}`);
}

async function place(entry: ReadEntry, path: string, root: string): Promise<void> {
  switch (entry.kind) {
    case 'file':
      return placeFile(entry, path);
    case 'folder':
      mkdirSync(path, { recursive: true });
      return;
    case 'link':
      makeWay(path);
      return symlinkSync(entry.target ?? '', path);
    case 'hard_link':
      makeWay(path);
      return linkSync(pathBelow(root, entry.target ?? ''), path);
  }
}

/** The whole file appears at once, also in place of another. */
export async function placeFile({ content, mode, mtimeS }: ReadEntry, path: string): Promise<void> {
  // Not beside its own name, which may be as long as names are.
  const part = join(dirname(path), `.${process.pid}.part`);
  // An upload that broke off: sandboxd ends us, and no half of a file stays.
  const stopped = () => {
    rmSync(part, { force: true });
    process.exit(1);
  };
  process.once('SIGTERM', stopped);
  try {
    await fill(part, content);
    chmodSync(part, mode);
    utimesSync(part, mtimeS, mtimeS);
    renameSync(part, path);
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  } finally {
    process.off('SIGTERM', stopped);
  }
}

async function fill(part: string, content: ReadEntry['content']): Promise<void> {
  const fd = openSync(part, 'wx');
  try {
    for await (const chunk of content) {
      for (let at = 0; at < chunk.length; at += writeSync(fd, chunk, at));
    }
  } finally {
    closeSync(fd);
  }
}

/** A link is replaced, not followed; a folder in its place is a mistake that the system tells. */
function makeWay(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) unlinkSync(path);
}
