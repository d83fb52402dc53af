import { chmodSync, lstatSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type ReadEntry, readTar, TarError } from '#src/protocol/sandboxd/tar.ts';
import { isIn } from '../reading/comparable.ts';
import { reportErrno } from './print.ts';
import { placeFile } from './tar-in.ts';

/** All paths that are removed, with what JSON adds. */
const longestHeadBytes = 8 * 1024 * 1024;

/**
 * Reads a line of JSON, `{removed}`, and a tar of absolute paths from stdin. It removes and writes below some folders and nowhere else:
 * every folder on the way must be one and no link. Returns the exit code.
 */
export async function applyChanges(belowJson: string): Promise<0 | 1> {
  try {
    const below = new Folders(textsOf(JSON.parse(belowJson)));
    const body = new Body(process.stdin);
    const { removed } = JSON.parse(await body.head()) as { readonly removed: unknown };
    for (const path of textsOf(removed)) below.remove(path);
    const written = { bytes: 0, entries: 0 };
    for await (const entry of readTar(body.rest())) {
      written.bytes += entry.bytes;
      written.entries += 1;
      await below.write(entry);
    }
    below.finish();
    process.stdout.write(JSON.stringify(written));
    return 0;
  } catch (error) {
    return reportErrno(error);
  }
}

function textsOf(value: unknown): readonly string[] {
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value;
  throw new TarError('the head of the changes is not a list of paths');
}

const permissions = 0o777;
/** What root writes others must be able to read: what the grader runs as the policy has another id. */
const readableByAll = 0o444;
const enterableByAll = 0o555;

class Folders {
  readonly #below: readonly string[];
  readonly #isRoot = process.getuid?.() === 0;
  /** Set at the end, so that a folder that may not be written in can be filled. */
  readonly #modes = new Map<string, number>();

  constructor(below: readonly string[]) {
    this.#below = below;
  }

  remove(path: string): void {
    this.#enter(path);
    rmSync(path, { recursive: true, force: true });
  }

  async write(entry: ReadEntry): Promise<void> {
    const path = entry.path.replace(/\/$/, '');
    this.#enter(path);
    if (entry.kind === 'folder') return this.#makeFolder(path, entry.mode);
    if (entry.kind === 'hard_link') throw new TarError(`${path} is a hard link`);
    if (entry.kind === 'file')
      return placeFile({ ...entry, mode: this.#modeOf(entry.mode, readableByAll) }, path);
    rmSync(path, { force: true });
    symlinkSync(entry.target ?? '', path);
  }

  finish(): void {
    for (const [path, mode] of [...this.#modes].toReversed()) chmodSync(path, mode);
  }

  #makeFolder(path: string, mode: number): void {
    if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) mkdirSync(path);
    this.#modes.set(path, this.#modeOf(mode, enterableByAll));
  }

  #modeOf(mode: number, forAll: number): number {
    const executable = (mode & 0o100) === 0 ? 0 : 0o111;
    return (mode & permissions) | (this.#isRoot ? forAll | executable : 0);
  }

  /** Throws unless the path lies below one of the folders, by folders alone; makes the last of them writable for the time. */
  #enter(path: string): void {
    const root = this.#below.find((each) => path !== each && isIn(path, each));
    if (root === undefined || resolve(path) !== path) throw new TarError(`${path} leads out of the folders`);
    for (const folder of foldersBetween(root, dirname(path)))
      if (!lstatSync(folder).isDirectory())
        throw Object.assign(new Error(`${folder} is no folder`), { code: 'ENOTDIR', path: folder });
    this.#open(dirname(path));
  }

  #open(folder: string): void {
    const { mode, uid } = lstatSync(folder);
    if ((mode & 0o300) === 0o300 || uid !== process.getuid?.()) return;
    if (!this.#modes.has(folder)) this.#modes.set(folder, mode & permissions);
    chmodSync(folder, (mode & permissions) | 0o700);
  }
}

/** Both included. */
function foldersBetween(root: string, folder: string): readonly string[] {
  return folder === root ? [root] : [...foldersBetween(root, dirname(folder)), folder];
}

const newline = 0x0a;

/** A line and what follows it. */
class Body {
  readonly #chunks: AsyncIterator<Buffer>;
  #begun: Buffer = Buffer.alloc(0);

  constructor(stream: AsyncIterable<Buffer>) {
    this.#chunks = stream[Symbol.asyncIterator]();
  }

  async head(): Promise<string> {
    const parts: Buffer[] = [];
    let bytes = 0;
    for (;;) {
      const next = await this.#chunks.next();
      if (next.done === true) throw new TarError('the changes were cut off in their head');
      const end = next.value.indexOf(newline);
      parts.push(end === -1 ? next.value : next.value.subarray(0, end));
      bytes += next.value.length;
      if (end !== -1) {
        this.#begun = next.value.subarray(end + 1);
        return Buffer.concat(parts).toString('utf8');
      }
      if (bytes > longestHeadBytes) throw new TarError('the head of the changes is too long');
    }
  }

  async *rest(): AsyncGenerator<Uint8Array> {
    if (this.#begun.length > 0) yield this.#begun;
    for (let next = await this.#chunks.next(); next.done !== true; next = await this.#chunks.next())
      yield next.value;
  }
}
