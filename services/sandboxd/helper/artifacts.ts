import {
  closeSync,
  constants,
  createReadStream,
  fstatSync,
  lstatSync,
  openSync,
  opendirSync,
  type Stats,
} from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { matches } from '#src/protocol/sandboxd/path-pattern.ts';
import { endOfTar, tarHeader, tarPadding } from '#src/protocol/sandboxd/tar.ts';
import { reportErrno, writeOut } from './print.ts';

/*
 * What a policy leaves behind, on its way to a grader elsewhere. It is looked at as a whole before the first byte of it is
 * sent, so that what is wrong with it can be told; nothing of the policy's runs any more, so it stays as it was seen.
 */

type Wanted = { readonly paths: readonly string[]; readonly mostBytes: number; readonly mostFiles: number };

/** Writes the artifacts to stdout. Returns the exit code. */
export async function takeArtifacts(folder: string, wanted: string): Promise<0 | 1> {
  try {
    const found = new Artifacts(JSON.parse(wanted) as Wanted);
    found.look(folder);
    await writeOut(tarOf(found.files));
    return 0;
  } catch (error) {
    return reportErrno(error);
  }
}

type Found = { readonly path: string; readonly source: string; readonly stats: Stats };

async function* tarOf(files: ReadonlyMap<string, Found>): AsyncGenerator<Uint8Array> {
  for (const { path, source, stats } of files.values()) {
    const mode = (stats.mode & anyExecutes) === 0 ? plainMode : executableMode;
    yield tarHeader({
      path,
      kind: 'file',
      mode,
      mtimeS: Math.trunc(stats.mtimeMs / 1000),
      bytes: stats.size,
    });
    if (stats.size > 0)
      yield* createReadStream(source, { flags: 'r', end: stats.size - 1 }) as AsyncIterable<Buffer>;
    yield tarPadding(stats.size);
  }
  yield endOfTar;
}

const anyExecutes = 0o111;
const plainMode = 0o644;
const executableMode = 0o755;

const fault = (code: string, message: string) => Object.assign(new Error(message), { code });

class Artifacts {
  readonly files = new Map<string, Found>();
  readonly #wanted: Wanted;
  #bytes = 0;
  readonly #folders = new Set<string>();
  #seen = 0;

  constructor(wanted: Wanted) {
    this.#wanted = wanted;
  }

  /** Throws with an errno for what is not as it is named. */
  look(workspace: string): void {
    for (const wanted of this.#wanted.paths) {
      const names = wanted.split('/').filter((name) => name !== '');
      const base = isAbsolute(wanted) ? '/' : workspace;
      this.#follow({ told: base === '/' ? '/' : '', source: base }, names, wanted, !wanted.includes('*'));
    }
  }

  /** `isNamed`: without `*`, so it must be there. */
  #follow(at: Place, [name, ...rest]: readonly string[], wanted: string, isNamed: boolean): void {
    if (name === undefined) return this.#take(at, wanted, isNamed);
    if (!name.includes('*')) return this.#step(below(at, name), rest, wanted, isNamed);
    for (const found of this.#namesIn(at.source))
      if (matches(name, found)) this.#step(below(at, found), rest, wanted, isNamed);
  }

  #step(at: Place, rest: readonly string[], wanted: string, isNamed: boolean): void {
    const stats = statOf(at.source);
    if (stats === null) {
      if (isNamed) throw fault('ENOENT', `${at.told} is not there`);
      return;
    }
    if (rest.length > 0 && !stats.isDirectory()) {
      if (isNamed) throw fault('EINVAL', `${at.told} is no folder`);
      return;
    }
    this.#follow(at, rest, wanted, isNamed);
  }

  #take(at: Place, wanted: string, isNamed: boolean): void {
    const stats = lstatSync(at.source);
    if (stats.isDirectory()) return this.#takeFolder(at);
    if (stats.isFile() && !wanted.endsWith('/')) return this.#takeFile(at);
    if (isNamed)
      throw fault(
        'EINVAL',
        `${at.told} is ${wanted.endsWith('/') ? 'no folder' : 'neither a file nor a folder'}`,
      );
  }

  #takeFolder(folder: Place): void {
    this.#countFolder(folder.told);
    for (const name of this.#namesIn(folder.source)) {
      const at = below(folder, name);
      const stats = lstatSync(at.source);
      if (stats.isDirectory()) this.#takeFolder(at);
      else if (stats.isFile()) this.#takeFile(at);
    }
  }

  /** Each is created again where the grader works, and takes room there although it has no bytes. */
  #countFolder(told: string): void {
    this.#folders.add(told);
    if (this.#folders.size > this.#wanted.mostFiles)
      throw fault('EFBIG', `they lie in more than ${this.#wanted.mostFiles} folders`);
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
  #takeFile({ told, source }: Place): void {
    if (this.files.has(told)) return;
    const fd = openSync(source, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stats = fstatSync(fd);
    closeSync(fd);
    this.#bytes += stats.size + Buffer.byteLength(told);
    const { mostBytes, mostFiles } = this.#wanted;
    if (this.#bytes > mostBytes)
      throw fault('EFBIG', `they have more than ${mostBytes} bytes, their names included`);
    if (this.files.size >= mostFiles) throw fault('EFBIG', `they are more than ${mostFiles} files`);
    this.#countFoldersAbove(told);
    this.files.set(told, { path: told, source, stats });
  }

  /** In the order of their names. Whatever is there counts, so that a walk has an end. */
  #namesIn(folder: string): readonly string[] {
    const names: string[] = [];
    const opened = opendirSync(folder);
    try {
      for (let entry = opened.readSync(); entry !== null; entry = opened.readSync()) {
        this.#seen += 1;
        if (this.#seen > this.#wanted.mostFiles * seenForEach)
          throw fault('EFBIG', `there are more than ${this.#seen - 1} names where they are looked for`);
        names.push(entry.name);
      }
    } finally {
      opened.closeSync();
    }
    return names.toSorted();
  }
}

/** Folders, links and what a pattern passes over, beside each file that may be taken. */
const seenForEach = 8;

/** `told`: as the grader will find it, below its workspace or absolute. */
type Place = { readonly told: string; readonly source: string };

const below = ({ told, source }: Place, name: string): Place => ({
  told: told === '' ? name : join(told, name),
  source: join(source, name),
});

function statOf(path: string): Stats | null {
  try {
    return lstatSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
