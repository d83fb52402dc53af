import { basename, join } from 'node:path';
import { endOfTar, tarHeader, type TarEntry, tarPadding } from '#src/protocol/sandboxd/tar.ts';
import { LeftOutPaths, whyOf } from './left-out.ts';
import { type Entry, ReadError, type Reader } from './reader.ts';

/** A walk over so many takes a minute. */
const mostEntries = 200_000;

/** `reportsLeftOut`: what cannot be read is left out and named at the end. Without it the archive is refused for it. */
export type ArchiveBounds = { readonly mostBytes: number; readonly reportsLeftOut: boolean };

/**
 * Yields a folder's content, or one file, as a tar with files, folders and symbolic links, which are not followed. Sockets, pipes and
 * devices are left out. Throws {@link ReadError} before the first byte for files that cannot be read (unless they are reported), and EFBIG
 * for more than `mostBytes`.
 *
 * It walks twice, so that it never keeps more than the names of one folder. The policy may change its files in between, which
 * never breaks the archive off: a file that has grown is cut, one that has shrunk is filled with zeros, and one that no longer exists
 * or fits is left out.
 */
export async function* tarOut(
  reader: Reader,
  root: string,
  { mostBytes, reportsLeftOut }: ArchiveBounds,
): AsyncGenerator<Uint8Array, void> {
  const file = await fileAt(reader, root);
  const walk = (leftOut: LeftOutPaths | null) =>
    file === null ? new Walk(reader, root, leftOut).below() : [file];
  let leftBytes = mostBytes - endOfTar.length;
  for await (const { entry, from, isClosed } of walk(reportsLeftOut ? new LeftOutPaths() : null)) {
    if (isClosed && reportsLeftOut) continue;
    if (isClosed) throw new ReadError('EACCES', `${from}: EACCES`);
    leftBytes -= sizeOf(entry);
    if (leftBytes < 0) throw new ReadError('EFBIG', `${root} has more than ${mostBytes} bytes`);
  }
  const leftOut = new LeftOutPaths();
  leftBytes = mostBytes - endOfTar.length;
  for await (const { entry, from, isClosed } of walk(leftOut)) {
    if (isClosed) leftOut.add(entry.path, 'not readable');
    else if (sizeOf(entry) > leftBytes) leftOut.add(entry.path, 'changed while it was read');
    else {
      leftBytes -= sizeOf(entry);
      yield* packed(reader, entry, from, leftOut);
    }
  }
  if (reportsLeftOut && file === null) yield leftOut.report(await reader.stat(root), leftBytes);
  yield endOfTar;
}

type Found = { readonly entry: TarEntry; readonly from: string; readonly isClosed: boolean };

const sizeOf = (entry: TarEntry): number =>
  tarHeader(entry).length + entry.bytes + tarPadding(entry.bytes).length;

async function* packed(
  reader: Reader,
  entry: TarEntry,
  from: string,
  leftOut: LeftOutPaths,
): AsyncGenerator<Uint8Array> {
  const content =
    entry.kind === 'file' ? await unless(leftOut, entry.path, reader.read(from, entry.bytes)) : [];
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

/** `leftOut`: null if only what no longer exists may be left out. */
class Walk {
  readonly #reader: Reader;
  readonly #root: string;
  readonly #leftOut: LeftOutPaths | null;

  constructor(reader: Reader, root: string, leftOut: LeftOutPaths | null) {
    this.#reader = reader;
    this.#root = root;
    this.#leftOut = leftOut;
  }

  async *below(): AsyncGenerator<Found> {
    let left = mostEntries;
    // Not by recursion: folders may be as deep as names are long.
    const folders = [''];
    for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
      const listed = this.#reader.list(join(this.#root, folder), left);
      const entries = (await (folder === '' ? listed : unless(this.#leftOut, folder, listed))) ?? [];
      left -= entries.length;
      for (const each of entries) {
        const path = folder === '' ? each.name : `${folder}/${each.name}`;
        const from = join(this.#root, path);
        const entry = await this.#entryOf(each, path, from);
        if (entry === null) continue;
        yield { entry, from, isClosed: each.kind === 'closed' };
        if (entry.kind === 'folder') folders.push(path);
      }
    }
  }

  /** Returns null for entries that a tar leaves out. */
  async #entryOf({ kind, mode, mtimeS, bytes }: Entry, path: string, from: string): Promise<TarEntry | null> {
    const about = { path, mode, mtimeS, bytes: 0 };
    switch (kind) {
      case 'other':
        this.#leftOut?.add(path, 'no file, folder or link');
        return null;
      case 'folder':
        return { ...about, kind };
      case 'file':
      case 'closed':
        return { ...about, kind: 'file', bytes };
      case 'link': {
        const target = await unless(this.#leftOut, path, this.#reader.link(from));
        return target === null ? null : { ...about, kind, target };
      }
    }
  }
}

/** Returns null, and notes why, for what the policy left so or changed meanwhile. Without a note only what is gone is passed over. */
async function unless<Result>(
  leftOut: LeftOutPaths | null,
  path: string,
  result: Promise<Result>,
): Promise<Result | null> {
  try {
    return await result;
  } catch (error) {
    const why = whyOf(error, path);
    const isGone = error instanceof ReadError && error.code === 'ENOENT';
    if (why === null || (leftOut === null && !isGone)) throw error;
    leftOut?.add(path, why);
    return null;
  }
}
