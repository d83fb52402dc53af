import { basename, join } from 'node:path';
import { endOfTar, tarHeader, type TarEntry, tarPadding } from '#src/protocol/sandboxd/tar.ts';
import { type Entry, ReadError, type Reader } from './reader.ts';

/** A walk over so many takes a minute. */
const mostEntries = 200_000;

/**
 * Yields a folder's content, or one file, as a tar with files, folders and symbolic links, which are not followed. Sockets, pipes and
 * devices are left out. Throws {@link ReadError} before the first byte for files that cannot be read, and EFBIG for more than
 * `mostBytes`.
 *
 * It walks twice, so that it never keeps more than the names of one folder. The policy may change its files in between, which
 * never breaks the archive off: a file that has grown is cut, one that has shrunk is filled with zeros, and one that no longer exists
 * or fits is left out.
 */
export async function* tarOut(
  reader: Reader,
  root: string,
  mostBytes: number,
): AsyncGenerator<Uint8Array, void> {
  const file = await fileAt(reader, root);
  const walk = (isPassedOver: PassOver) => (file === null ? below(reader, root, isPassedOver) : [file]);
  let leftBytes = mostBytes - endOfTar.length;
  for await (const { entry, from, isClosed } of walk(isGone)) {
    if (isClosed) throw new ReadError('EACCES', `${from}: EACCES`);
    leftBytes -= sizeOf(entry);
    if (leftBytes < 0) throw new ReadError('EFBIG', `${root} has more than ${mostBytes} bytes`);
  }
  leftBytes = mostBytes - endOfTar.length;
  for await (const { entry, from } of walk(isChanged)) {
    leftBytes -= sizeOf(entry);
    if (leftBytes < 0) break;
    yield* packed(reader, entry, from);
  }
  yield endOfTar;
}

type Found = { readonly entry: TarEntry; readonly from: string; readonly isClosed: boolean };
type PassOver = (error: unknown) => boolean;

const isGone: PassOver = (error) => error instanceof ReadError && error.code === 'ENOENT';

/** Errors of a file or folder that was changed after it was listed. */
const changes: ReadonlySet<string> = new Set([
  'ENOENT',
  'ENOTDIR',
  'EISDIR',
  'EACCES',
  'EINVAL',
  'ELOOP',
  'ENODEV',
  'EAGAIN',
]);
const isChanged: PassOver = (error) => error instanceof ReadError && changes.has(error.code);

const sizeOf = (entry: TarEntry): number =>
  tarHeader(entry).length + entry.bytes + tarPadding(entry.bytes).length;

async function* packed(reader: Reader, entry: TarEntry, from: string): AsyncGenerator<Uint8Array> {
  const content = entry.kind === 'file' ? await unless(isChanged, reader.read(from, entry.bytes)) : [];
  if (content === null) return;
  yield tarHeader(entry);
  yield* content;
  yield tarPadding(entry.bytes);
}

/** Returns null for a folder. */
async function fileAt(reader: Reader, path: string): Promise<Found | null> {
  try {
    const { bytes, mode, mtimeS } = await reader.open(path);
    const entry = { path: basename(path), kind: 'file', bytes, mode, mtimeS } as const;
    return { entry, from: path, isClosed: false };
  } catch (error) {
    if (error instanceof ReadError && error.code === 'EISDIR') return null;
    throw error;
  }
}

async function* below(reader: Reader, root: string, isPassedOver: PassOver): AsyncGenerator<Found> {
  let left = mostEntries;
  // Not by recursion: folders may be as deep as names are long.
  const folders = [''];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const listed = reader.list(join(root, folder), left);
    const entries = (await (folder === '' ? listed : unless(isPassedOver, listed))) ?? [];
    left -= entries.length;
    for (const each of entries) {
      const path = folder === '' ? each.name : `${folder}/${each.name}`;
      const from = join(root, path);
      const entry = await tarEntryOf(reader, each, path, from);
      if (entry === null) continue;
      yield { entry, from, isClosed: each.kind === 'closed' };
      if (entry.kind === 'folder') folders.push(path);
    }
  }
}

/** Returns null for entries that a tar leaves out. */
async function tarEntryOf(
  reader: Reader,
  found: Entry,
  path: string,
  from: string,
): Promise<TarEntry | null> {
  const { kind, mode, mtimeS, bytes } = found;
  const about = { path, mode, mtimeS, bytes: 0 };
  switch (kind) {
    case 'other':
      return null;
    case 'folder':
      return { ...about, kind };
    case 'file':
    case 'closed':
      return { ...about, kind: 'file', bytes };
    case 'link': {
      const target = await unless(isChanged, reader.link(from));
      return target === null ? null : { ...about, kind, target };
    }
  }
}

async function unless<Result>(isPassedOver: PassOver, result: Promise<Result>): Promise<Result | null> {
  try {
    return await result;
  } catch (error) {
    if (isPassedOver(error)) return null;
    throw error;
  }
}
