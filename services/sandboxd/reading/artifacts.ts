import { dirname, isAbsolute, join } from 'node:path';
import { matches } from '#src/protocol/sandboxd/path-pattern.ts';
import { endOfTar, tarHeader, tarPadding } from '#src/protocol/sandboxd/tar.ts';
import type { ArtifactsRequest } from '#src/protocol/sandboxd/wire.ts';
import { type Entry, ReadError, type Reader } from './reader.ts';

/*
 * What a policy leaves behind, on its way to a grader elsewhere. It is looked at as a whole before the first byte of it is
 * sent, so that what is wrong with it can be told; nothing of the policy's runs any more, so it stays as it was seen.
 */

type Wanted = Omit<ArtifactsRequest, 'turn'>;

/** The artifacts as a tar. Throws {@link ReadError} before the first byte for what is not as it is named. */
export async function* artifactsOf(
  reader: Reader,
  workspace: string,
  wanted: Wanted,
): AsyncGenerator<Uint8Array, void> {
  const found = new Artifacts(reader, wanted);
  await found.look(workspace);
  for (const { path, source, entry } of found.files.values()) {
    const { bytes, mtimeS } = entry;
    const mode = (entry.mode & anyExecutes) === 0 ? plainMode : executableMode;
    const content = await reader.read(source, bytes);
    yield tarHeader({ path, kind: 'file', mode, mtimeS, bytes });
    yield* content;
    yield tarPadding(bytes);
  }
  yield endOfTar;
}

const anyExecutes = 0o111;
const plainMode = 0o644;
const executableMode = 0o755;

type Found = { readonly path: string; readonly source: string; readonly entry: Entry };

class Artifacts {
  readonly files = new Map<string, Found>();
  readonly #reader: Reader;
  readonly #wanted: Wanted;
  #bytes = 0;
  readonly #folders = new Set<string>();
  #seen = 0;

  constructor(reader: Reader, wanted: Wanted) {
    this.#reader = reader;
    this.#wanted = wanted;
  }

  /** Throws with an errno for what is not as it is named. */
  async look(workspace: string): Promise<void> {
    for (const wanted of this.#wanted.paths) {
      const names = wanted.split('/').filter((name) => name !== '');
      const base = isAbsolute(wanted) ? '/' : workspace;
      await this.#follow({ told: base === '/' ? '/' : '', source: base }, names, {
        path: wanted,
        isNamed: !wanted.includes('*'),
      });
    }
  }

  async #follow(at: Place, [name, ...rest]: readonly string[], wanted: Named): Promise<void> {
    if (name === undefined) return this.#take(at, wanted);
    if (!name.includes('*')) return this.#step(below(at, name), rest, wanted);
    for (const found of await this.#listed(at.source))
      if (matches(name, found.name)) await this.#step(below(at, found.name), rest, wanted);
  }

  async #step(at: Place, rest: readonly string[], wanted: Named): Promise<void> {
    const entry = await this.#statOf(at.source);
    if (entry === null) {
      if (wanted.isNamed) throw new ReadError('ENOENT', `${at.told} is not there`);
      return;
    }
    if (rest.length > 0 && entry.kind !== 'folder') {
      if (wanted.isNamed) throw new ReadError('EINVAL', `${at.told} is no folder`);
      return;
    }
    await this.#follow(at, rest, wanted);
  }

  async #statOf(path: string): Promise<Entry | null> {
    try {
      return await this.#reader.stat(path);
    } catch (error) {
      if (error instanceof ReadError && error.code === 'ENOENT') return null;
      throw error;
    }
  }

  async #take(at: Place, { path, isNamed }: Named): Promise<void> {
    const { kind } = await this.#reader.stat(at.source);
    if (kind === 'folder') return this.#takeFolder(at);
    if (kind === 'file' && !path.endsWith('/')) return this.#takeFile(at);
    if (!isNamed) return;
    const what = path.endsWith('/') ? 'no folder' : 'neither a file nor a folder';
    throw new ReadError('EINVAL', `${at.told} is ${what}`);
  }

  async #takeFolder(folder: Place): Promise<void> {
    this.#countFolder(folder.told);
    for (const { name, kind } of await this.#listed(folder.source)) {
      const at = below(folder, name);
      if (kind === 'folder') await this.#takeFolder(at);
      else if (kind === 'file' || kind === 'closed') await this.#takeFile(at);
    }
  }

  /** Each is created again where the grader works, and takes room there although it has no bytes. */
  #countFolder(told: string): void {
    this.#folders.add(told);
    if (this.#folders.size > this.#wanted.mostFiles)
      throw new ReadError('EFBIG', `they lie in more than ${this.#wanted.mostFiles} folders`);
  }

  /** A pattern reaches a file through folders of which nothing else is taken. */
  #countFoldersAbove(told: string): void {
    for (let at = dirname(told); at !== '.' && at !== '/' && !this.#folders.has(at); at = dirname(at))
      this.#countFolder(at);
  }

  /**
   * Opened once, so that one that cannot be read is told before anything is sent. Its name counts as well: of thousands of
   * empty files it is all that has to be held.
   */
  async #takeFile({ told, source }: Place): Promise<void> {
    if (this.files.has(told)) return;
    const entry = await this.#reader.open(source);
    this.#bytes += entry.bytes + Buffer.byteLength(told);
    const { mostBytes, mostFiles } = this.#wanted;
    if (this.#bytes > mostBytes)
      throw new ReadError('EFBIG', `they have more than ${mostBytes} bytes, their names included`);
    if (this.files.size >= mostFiles) throw new ReadError('EFBIG', `they are more than ${mostFiles} files`);
    this.#countFoldersAbove(told);
    this.files.set(told, { path: told, source, entry });
  }

  /** Whatever is there counts, so that a walk has an end. */
  async #listed(folder: string): Promise<readonly Entry[]> {
    const entries = await this.#reader.list(folder, this.#wanted.mostFiles * seenForEach - this.#seen);
    this.#seen += entries.length;
    return entries;
  }
}

/** Folders, links and what a pattern passes over, beside each file that may be taken. */
const seenForEach = 8;

/** A path as the environment names it. `isNamed`: without `*`, so it must be there. */
type Named = { readonly path: string; readonly isNamed: boolean };

/** `told`: as the grader will find it, below its workspace or absolute. */
type Place = { readonly told: string; readonly source: string };

const below = ({ told, source }: Place, name: string): Place => ({
  told: told === '' ? name : join(told, name),
  source: join(source, name),
});
