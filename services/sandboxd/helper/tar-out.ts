import {
  accessSync,
  closeSync,
  constants,
  createReadStream,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  type Stats,
  statSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { endOfTar, tarHeader, type TarEntry, tarPadding } from '#src/protocol/sandboxd/tar.ts';
import { reportErrno, writeOut } from './print.ts';

/** Names and sizes of all are known before the first byte is sent; this many of them are some tens of megabytes. */
const mostEntries = 200_000;

type Found = { readonly entry: TarEntry; readonly from: string };

/**
 * Writes what is below a folder, or one file, to stdout as a tar: files, folders and symbolic links, which are not followed;
 * what cannot be carried (sockets, pipes, devices) is left out. More than `mostBytes` is EFBIG before the first byte. Returns the
 * exit code.
 *
 * The policy may change its files meanwhile. An entry is as long as it was found to be: what has grown is cut there, what
 * has shrunk is filled with zeros, what has gone is left out. So nothing that it does to them breaks the archive off.
 */
export async function tarOut(root: string, mostBytes: number): Promise<0 | 1> {
  try {
    const found = list(root);
    const bytes = found.reduce((sum, { entry }) => sum + sizeOf(entry), endOfTar.length);
    if (bytes > mostBytes) throw tooLarge(`${root} has more than ${mostBytes} bytes`);
    await writeOut(archive(found));
    return 0;
  } catch (error) {
    return reportErrno(error);
  }
}

function list(root: string): readonly Found[] {
  const { kind, ...about } = entryOf(basename(root), root, statSync(root)) ?? notCarried(root);
  if (kind !== 'folder') return [{ entry: { kind, ...about }, from: root }];
  const found: Found[] = [];
  // Not by recursion: folders may be as deep as names are long.
  const folders = [''];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const name of namesIn(join(root, folder))) {
      const path = folder === '' ? name : `${folder}/${name}`;
      const from = join(root, path);
      const stats = lstatSync(from, { throwIfNoEntry: false });
      const entry = stats && entryOf(path, from, stats);
      if (entry === undefined) continue;
      // Said before the first byte, when it can still be said.
      if (entry.kind === 'file') accessSync(from, constants.R_OK);
      if (found.length >= mostEntries) throw tooLarge(`${root} has more than ${mostEntries} files`);
      found.push({ entry, from });
      if (entry.kind === 'folder') folders.push(path);
    }
  }
  return found;
}

/** None where it has gone meanwhile. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).sort();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
}

function entryOf(path: string, from: string, stats: Stats): TarEntry | undefined {
  const about = { path, mode: stats.mode, mtimeS: Math.floor(stats.mtimeMs / 1000), bytes: 0 };
  if (stats.isDirectory()) return { ...about, kind: 'folder' };
  if (stats.isFile()) return { ...about, kind: 'file', bytes: stats.size };
  if (!stats.isSymbolicLink()) return undefined;
  const target = linkTarget(from);
  return target === null ? undefined : { ...about, kind: 'link', target };
}

function linkTarget(from: string): string | null {
  try {
    return readlinkSync(from);
  } catch {
    return null;
  }
}

function sizeOf(entry: TarEntry): number {
  return tarHeader(entry).length + entry.bytes + tarPadding(entry.bytes).length;
}

async function* archive(found: readonly Found[]): AsyncGenerator<Uint8Array> {
  for (const { entry, from } of found) {
    if (entry.kind !== 'file') yield tarHeader(entry);
    else yield* fileIn(entry, from);
  }
  yield endOfTar;
}

async function* fileIn(entry: TarEntry, from: string): AsyncGenerator<Uint8Array> {
  const fd = openAgain(from);
  if (fd === null) return;
  yield tarHeader(entry);
  let left = entry.bytes;
  if (left === 0) closeSync(fd);
  else {
    for await (const chunk of createReadStream(from, { fd, end: left - 1 }) as AsyncIterable<Buffer>) {
      left -= chunk.length;
      yield chunk;
    }
  }
  for (; left > 0; left -= zeros.length) yield zeros.subarray(0, left);
  yield tarPadding(entry.bytes);
}

const zeros = Buffer.alloc(64 * 1024);

/** Null where it has gone, was closed, or is something else by now. Without waiting: that may be a named pipe. */
function openAgain(from: string): number | null {
  try {
    const fd = openSync(from, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    if (fstatSync(fd).isFile()) return fd;
    closeSync(fd);
  } catch {
    // As if it had not been found.
  }
  return null;
}

function notCarried(path: string): never {
  throw Object.assign(new Error(`${path} is no file and no folder`), { code: 'EINVAL' });
}

function tooLarge(message: string): Error {
  return Object.assign(new Error(message), { code: 'EFBIG' });
}
