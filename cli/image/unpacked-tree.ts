import {
  chmodSync,
  closeSync,
  fchmodSync,
  fchownSync,
  futimesSync,
  lchownSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  openSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type ReadEntry, readTar, TarError } from '#src/protocol/sandboxd/tar.ts';
import { placeIn } from './place-in.ts';

/** Prefix of a mark that removes a lower layer's file, and the mark that removes all of a folder's. */
const whiteout = '.wh.';
const opaque = '.wh..wh..opq';
/** Bookkeeping of union file systems, which is not part of the image. */
const isUnionsOwn = (path: string) =>
  path.split('/').some((name) => name.startsWith(`${whiteout}${whiteout}`) && name !== opaque);

/** The mode of every folder until all layers are unpacked: without root, a folder closed to its owner could not be filled. */
const openFolder = 0o700;

/** Applies an image's layers to a folder, one after another. Owners are kept only as root. */
export class UnpackedTree {
  readonly #root: string;
  readonly #keepsOwners = process.getuid?.() === 0;
  /** Final modes and times of folders, by real path. */
  readonly #folders = new Map<string, Pick<ReadEntry, 'mode' | 'special' | 'mtimeS'>>();
  /** Paths of the current layer and the folders above them: an opaque mark keeps them. */
  #ofLayer = new Set<string>();
  readonly counted = { files: 0, bytes: 0, leftOut: 0 };

  /** `root`: an empty folder that no other process writes, with no link in its path. */
  constructor(root: string) {
    this.#root = root;
  }

  /** Applies the next layer. Throws `TarError` and errors of the file system. */
  async add(layer: AsyncIterable<Uint8Array>): Promise<void> {
    this.#ofLayer = new Set();
    for await (const entry of readTar(layer, () => (this.counted.leftOut += 1))) {
      if (isUnionsOwn(entry.path)) continue;
      if (basename(entry.path).startsWith(whiteout)) this.#white(entry.path);
      else await this.#place(entry);
    }
  }

  /** Sets the final modes and times of folders. A path that is no longer a folder is skipped. */
  finish(): void {
    for (const [path, { mode, special, mtimeS }] of [...this.#folders].toReversed()) {
      if (!isRealFolder(path)) continue;
      chmodSync(path, mode | special);
      utimesSync(path, mtimeS, mtimeS);
    }
  }

  #white(path: string): void {
    const gone = basename(path).slice(whiteout.length);
    if (gone === '' || gone === '.' || gone === '..') throw new TarError(`${path} removes no name`);
    const place = placeIn(this.#root, path, false);
    if (place === null) return;
    if (basename(place) === opaque) return this.#clear(dirname(place));
    rmSync(join(dirname(place), gone), { recursive: true, force: true });
  }

  /** Entries of this layer stay, even if they come before the opaque mark. */
  #clear(folder: string): void {
    for (const name of readdirSync(folder)) {
      const path = join(folder, name);
      if (!this.#ofLayer.has(path)) rmSync(path, { recursive: true, force: true });
      else if (isRealFolder(path)) this.#clear(path);
    }
  }

  async #place(entry: ReadEntry): Promise<void> {
    const path = placeIn(this.#root, entry.path, true) ?? this.#root;
    this.#note(path);
    if (entry.kind === 'folder') return this.#placeFolder(entry, path);
    if (path === this.#root) throw new TarError('its root is no folder');
    if (entry.kind === 'hard_link') return this.#placeHardLink(entry, path);
    makeWay(path);
    if (entry.kind === 'file') return this.#placeFile(entry, path);
    symlinkSync(entry.target ?? '', path);
    if (this.#keepsOwners) lchownSync(path, entry.uid, entry.gid);
    lutimesSync(path, entry.mtimeS, entry.mtimeS);
  }

  #note(path: string): void {
    for (let each = path; each !== this.#root && !this.#ofLayer.has(each); each = dirname(each)) {
      this.#ofLayer.add(each);
    }
  }

  #placeFolder({ mode, special, mtimeS, uid, gid }: ReadEntry, path: string): void {
    if (!isRealFolder(path)) {
      makeWay(path);
      mkdirSync(path, { mode: openFolder });
    }
    if (this.#keepsOwners) lchownSync(path, uid, gid);
    this.#folders.set(path, { mode, special, mtimeS });
  }

  #placeHardLink({ target = '' }: ReadEntry, path: string): void {
    const from = placeIn(this.#root, target, false);
    if (from === path) return;
    if (from === null || lstatSync(from, { throwIfNoEntry: false })?.isFile() !== true)
      throw new TarError(`a link in it names ${target}, which is no file in it`);
    makeWay(path);
    linkSync(from, path);
  }

  async #placeFile(
    { content, mode, special, mtimeS, uid, gid, bytes }: ReadEntry,
    path: string,
  ): Promise<void> {
    // A new file, so a link cannot redirect it.
    const fd = openSync(path, 'wx', 0o600);
    try {
      for await (const chunk of content) {
        for (let at = 0; at < chunk.length; at += writeSync(fd, chunk, at));
      }
      if (this.#keepsOwners) fchownSync(fd, uid, gid);
      // After the owner, whose change takes the special bits away.
      fchmodSync(fd, mode | special);
      futimesSync(fd, mtimeS, mtimeS);
    } finally {
      closeSync(fd);
    }
    this.counted.files += 1;
    this.counted.bytes += bytes;
  }
}

/** Looks first: mostly nothing exists there, and a look is cheaper than a removal. */
function makeWay(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) rmSync(path, { recursive: true });
}

/** A folder at exactly this path: neither it nor a folder above it is a link. */
function isRealFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true && realpathSync(path) === path;
}
