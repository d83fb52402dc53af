import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { comparePaths } from '#src/protocol/sandboxd/compare-paths.ts';
import type { ListingLine, ListingRequest } from '#src/protocol/sandboxd/wire.ts';
import { monotonicMs } from '../clock.ts';
import type { Comparable } from './comparable.ts';
import { type Entry, ReadError, type Reader } from './reader.ts';

/** Longer than the bounds of a listing take on a busy machine, and below what a gateway waits. */
const longestMs = 240_000;

type Bounds = Pick<ListingRequest, 'mostEntries' | 'mostBytes'>;

/**
 * Yields what is below the folders, each folder before what is in it. A name that is not UTF-8 is passed over, in both sandboxes. Throws
 * {@link ReadError} with an errno that the policy's files can cause, EFBIG beyond the bounds, ETIME, and those of a failing disk.
 */
export async function* listingOf(
  reader: Reader,
  { below, isLeftOut }: Comparable,
  bounds: Bounds,
): AsyncGenerator<ListingLine> {
  const walk = new Walk(reader, isLeftOut, bounds);
  for (const folder of below.toSorted(comparePaths)) yield* walk.below(folder);
}

class Walk {
  readonly #reader: Reader;
  readonly #isLeftOut: Comparable['isLeftOut'];
  readonly #bounds: Bounds;
  #untilMs = monotonicMs() + longestMs;
  #entries = 0;
  #bytes = 0;

  constructor(reader: Reader, isLeftOut: Comparable['isLeftOut'], bounds: Bounds) {
    this.#reader = reader;
    this.#isLeftOut = isLeftOut;
    this.#bounds = bounds;
  }

  async *below(root: string): AsyncGenerator<ListingLine> {
    const { kind, mode } = await this.#reader.stat(root);
    if (kind !== 'folder') throw new ReadError('ENOTDIR', `${root} is not a folder`);
    yield* this.#sent(['root', root, mode]);
    // Not by recursion: folders may be as deep as names are long.
    const open = [{ folder: root, entries: await this.#listed(root) }];
    for (let at = open.at(-1); at !== undefined; at = open.at(-1)) {
      const entry = at.entries.shift();
      if (entry === undefined) {
        open.pop();
        continue;
      }
      const path = join(at.folder, entry.name);
      if (entry.name.includes('\u{fffd}') || this.#isLeftOut(path)) continue;
      yield* this.#sent(await this.#lineOf(path, entry));
      if (entry.kind === 'folder') open.push({ folder: path, entries: await this.#listedIfOpen(path) });
    }
  }

  /** How long its receiver takes does not count: that one waits for another sandbox. */
  *#sent(line: ListingLine): Generator<ListingLine> {
    const beganMs = monotonicMs();
    yield line;
    this.#untilMs += monotonicMs() - beganMs;
  }

  async #listed(folder: string): Promise<Entry[]> {
    const { mostEntries } = this.#bounds;
    if (monotonicMs() > this.#untilMs)
      throw new ReadError('ETIME', `the files were not listed in ${longestMs / 1000} s`);
    const entries = await this.#reader.list(folder, mostEntries - this.#entries);
    this.#entries += entries.length;
    return [...entries];
  }

  /** What is in a folder that its user may not list cannot have been changed by that user. */
  async #listedIfOpen(folder: string): Promise<Entry[]> {
    try {
      return await this.#listed(folder);
    } catch (error) {
      if (error instanceof ReadError && error.code === 'EACCES') return [];
      throw error;
    }
  }

  async #lineOf(path: string, { kind, mode, bytes }: Entry): Promise<ListingLine> {
    if (kind === 'link') return linkLine(path, mode, await this.#reader.link(path));
    if (kind !== 'file') return [kind, path, mode];
    this.#bytes += bytes;
    if (this.#bytes > this.#bounds.mostBytes)
      throw new ReadError('EFBIG', `the files have more than ${this.#bounds.mostBytes} bytes`);
    return ['file', path, mode, bytes, await this.#digestOf(path, bytes)];
  }

  async #digestOf(path: string, bytes: number): Promise<string> {
    const hash = createHash('sha256');
    if (bytes > 0) for await (const chunk of await this.#reader.read(path, bytes)) hash.update(chunk);
    return hash.digest('hex');
  }
}

/** A target that is not UTF-8 cannot be written again. */
const linkLine = (path: string, mode: number, target: string): ListingLine =>
  target.includes('\u{fffd}') ? ['other', path, mode] : ['link', path, target];
