import { dirname, isAbsolute, join } from 'node:path';
import { matches } from '#src/protocol/sandboxd/path-pattern.ts';
import { endOfTar, tarHeader, tarPadding } from '#src/protocol/sandboxd/tar.ts';
import type { ArtifactsRequest } from '#src/protocol/sandboxd/wire.ts';
import { type Entry, ReadError, type Reader } from './reader.ts';

/*
 * Reads the artifacts for a grader in another sandbox. All of them are checked before the first byte is sent, so that an error can still
 * be reported. Every process of the policy's has ended by then, so the files stay as they were checked.
 */

type Wanted = Omit<ArtifactsRequest, 'turn'>;

/** Yields the artifacts as a tar. Before the first byte it throws {@link ReadError} for files that are not as the environment names them. */
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

  /** Throws with an errno for files that are not as they are named. */
  async look(workspace: string): Promise<void> {
    for (const wanted of this.#wanted.paths) {
      const names = wanted.split('/').filter((name) => name !== '');
      const base = isAbsolute(wanted) ? '/' : workspace;
      await this.#follow({ target: base === '/' ? '/' : '', source: base }, names, {
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
      if (wanted.isNamed) throw new ReadError('ENOENT', `${at.target} is not there`);
      return;
    }
    if (rest.length > 0 && entry.kind !== 'folder') {
      if (wanted.isNamed) throw new ReadError('EINVAL', `${at.target} is no folder`);
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
    throw new ReadError('EINVAL', `${at.target} is ${what}`);
  }

  async #takeFolder(folder: Place): Promise<void> {
    this.#countFolder(folder.target);
    for (const { name, kind } of await this.#listed(folder.source)) {
      const at = below(folder, name);
      if (kind === 'folder') await this.#takeFolder(at);
      else if (kind === 'file' || kind === 'closed') await this.#takeFile(at);
    }
  }

  /** The grader's sandbox gets each folder again, where it takes room although it has no bytes. */
  #countFolder(target: string): void {
    this.#folders.add(target);
    if (this.#folders.size > this.#wanted.mostFiles)
      throw new ReadError('EFBIG', `they lie in more than ${this.#wanted.mostFiles} folders`);
  }

  /** A pattern may reach a file through folders with nothing else to take. */
  #countFoldersAbove(target: string): void {
    for (let at = dirname(target); at !== '.' && at !== '/' && !this.#folders.has(at); at = dirname(at))
      this.#countFolder(at);
  }

  /**
   * Opens the file, so that one that cannot be read is reported before the first byte. Names count as bytes, because of thousands of
   * empty files the names are all that has to be kept.
   */
  async #takeFile({ target, source }: Place): Promise<void> {
    if (this.files.has(target)) return;
    const entry = await this.#reader.open(source);
    this.#bytes += entry.bytes + Buffer.byteLength(target);
    const { mostBytes, mostFiles } = this.#wanted;
    if (this.#bytes > mostBytes)
      throw new ReadError('EFBIG', `they have more than ${mostBytes} bytes, their names included`);
    if (this.files.size >= mostFiles) throw new ReadError('EFBIG', `they are more than ${mostFiles} files`);
    this.#countFoldersAbove(target);
    this.files.set(target, { path: target, source, entry });
  }

  /** All names count, so that a walk ends. */
  async #listed(folder: string): Promise<readonly Entry[]> {
    const entries = await this.#reader.list(folder, this.#wanted.mostFiles * seenForEach - this.#seen);
    this.#seen += entries.length;
    return entries;
  }
}

/** Folders, links and names that no pattern matches, next to each file that may be taken. */
const seenForEach = 8;

/** A path as the environment names it. `isNamed`: without `*`, so it must be there. */
type Named = { readonly path: string; readonly isNamed: boolean };

/** `target`: the path in the grader's sandbox, below its workspace or absolute. */
type Place = { readonly target: string; readonly source: string };

const below = ({ target, source }: Place, name: string): Place => ({
  target: target === '' ? name : join(target, name),
  source: join(source, name),
});
