import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmdirSync,
  rmSync,
  type Stats,
  symlinkSync,
  unlinkSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type ReadEntry, TarError } from '#src/protocol/sandboxd/tar.ts';
import { allows, rights, type Who } from '../programs/permissions.ts';
import { isAtOrBelow } from '#src/protocol/sandboxd/at-or-below.ts';
import { type Comparable, type ComparedHere, comparableOf } from '../reading/comparable.ts';
import { placeFile } from './tar-in.ts';

export type ChangedFoldersRules = ComparedHere & { readonly policy: Who };

const allBits = 0o7777;
const permissions = 0o777;
/** What others than the policy own must be readable: the grader runs the policy's programs with the policy's id. */
const readableByAll = 0o444;
const enterableByAll = 0o555;
/** Of a folder on the way: its owner writes there, others pass. */
const openBits = 0o711;
const sticky = 0o1000;

/**
 * Removes and writes below some folders of the image, where no policy was. All that lies on the way must be a folder, and nothing that is
 * left out of comparisons is removed or written: EPERM. Each change is made with the id of the policy if it may write in that folder, else
 * with the id of the folder's owner, so that folders of several owners take changes although no process has all rights.
 */
export class ChangedFolders {
  readonly #comparable: Comparable;
  readonly #policy: Who;
  readonly #acting = new ActingAs();
  /** Set at the end, so that a folder that may not be written in can be filled. */
  readonly #modes = new Map<string, { readonly mode: number; readonly owner: Who }>();

  constructor({ policy, ...compared }: ChangedFoldersRules) {
    this.#comparable = comparableOf(compared);
    this.#policy = policy;
  }

  remove(path: string): void {
    this.#enter(path);
    this.#removeTree(path);
  }

  makeFolder(path: string, mode: number): void {
    const isOwn = this.#enter(path);
    if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) mkdirSync(path);
    const owner = lstatSync(path);
    this.#modes.set(path, { mode: modeOf(mode, isOwn ? 0 : enterableByAll), owner });
  }

  async writeFile(path: string, entry: ReadEntry): Promise<void> {
    const isOwn = this.#enter(path);
    await placeFile({ ...entry, mode: modeOf(entry.mode, isOwn ? 0 : readableByAll) }, path);
  }

  /** It may not lead past a path that the author excepts. */
  writeLink(path: string, target: string): void {
    this.#enter(path);
    if (this.#comparable.leadsToExcepted(path)) throw neverBrought(path);
    rmSync(path, { force: true });
    symlinkSync(target, path);
  }

  finish(): void {
    for (const [path, { mode, owner }] of [...this.#modes].toReversed()) {
      this.#acting.as(owner);
      chmodSync(path, mode);
    }
  }

  #removeTree(path: string): void {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined) return;
    if (this.#comparable.isExcepted(path)) throw neverBrought(path);
    if (found.isDirectory()) {
      this.#open(path);
      for (const name of readdirSync(path)) this.#removeTree(join(path, name));
    }
    this.#actIn(dirname(path));
    if (found.isDirectory()) rmdirSync(path);
    else unlinkSync(path);
    this.#modes.delete(path);
  }

  /** Throws unless the path lies below one of the folders, by folders alone, and may be changed. Returns whether the policy itself may. */
  #enter(path: string): boolean {
    const root = this.#comparable.below.find((each) => path !== each && isAtOrBelow(path, each));
    if (root === undefined || resolve(path) !== path) throw new TarError(`${path} leads out of the folders`);
    for (const each of [...foldersBetween(root, dirname(path)), path])
      if (each !== root && this.#comparable.isLeftOut(each)) throw neverBrought(each);
    for (const folder of foldersBetween('/', dirname(path))) this.#open(folder);
    return this.#actIn(dirname(path));
  }

  /** Lets its owner write there and others pass, for the time. */
  #open(folder: string): void {
    const found = lstatSync(folder);
    if (!found.isDirectory())
      throw Object.assign(new Error(`${folder} is not a folder`), { code: 'ENOTDIR', path: folder });
    if ((found.mode & openBits) === openBits || !this.#acting.mayBe(found)) return;
    if (!this.#modes.has(folder)) this.#modes.set(folder, { mode: found.mode & allBits, owner: found });
    this.#acting.as(found);
    chmodSync(folder, (found.mode & allBits) | openBits);
  }

  #actIn(folder: string): boolean {
    const found = lstatSync(folder);
    const isOwn = mayChange(found, this.#policy);
    this.#acting.as(isOwn ? this.#policy : found);
    return isOwn;
  }
}

/** In a sticky folder, only its owner replaces what others own. */
const mayChange = (folder: Stats, who: Who): boolean =>
  folder.uid === who.uid ||
  ((folder.mode & sticky) === 0 && allows(folder, who, rights.write | rights.execute));

function modeOf(mode: number, forAll: number): number {
  const executable = forAll === 0 || (mode & 0o100) === 0 ? 0 : 0o111;
  return (mode & permissions) | forAll | executable;
}

const neverBrought = (path: string) =>
  Object.assign(new Error(`${path} is left out of what graders get`), { code: 'EPERM', path });

/** Both included. */
function foldersBetween(root: string, folder: string): readonly string[] {
  return folder === root ? [root] : [...foldersBetween(root, dirname(folder)), folder];
}

/** The ids with which this process uses files. Only root can change them. */
class ActingAs {
  readonly #isRoot = process.getuid?.() === 0;

  mayBe({ uid }: Who): boolean {
    return this.#isRoot || uid === process.getuid?.();
  }

  as({ uid, gid }: Who): void {
    if (!this.#isRoot || (process.geteuid?.() === uid && process.getegid?.() === gid)) return;
    process.seteuid?.(0);
    process.setegid?.(gid);
    process.seteuid?.(uid);
  }
}
