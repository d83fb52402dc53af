import {
  chmodSync,
  closeSync,
  constants,
  createWriteStream,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  ftruncateSync,
  readlinkSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { reportErrno } from './print.ts';

/** Opens without waiting: a named pipe that the policy left there would hold us for ever. */
export function openRegular(path: string): number {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  if (fstatSync(fd).isFile()) return fd;
  const code = fstatSync(fd).isDirectory() ? 'EISDIR' : 'EINVAL';
  closeSync(fd);
  throw Object.assign(new Error(`${path} is not a regular file`), { code });
}

/**
 * Writes stdin to a file next to its place and renames it, so that no program reads half of it. A file that cannot be replaced, because of its
 * folder, or that would lose its owner or other names, is written where it is, to what `open(O_TRUNC)` would make of it. Returns the exit code.
 */
export async function putFile(named: string): Promise<0 | 1> {
  try {
    mkdirSync(dirname(named), { recursive: true });
    const path = followed(named);
    const bytes = await replace(path);
    process.stdout.write(JSON.stringify({ bytes }));
    return 0;
  } catch (error) {
    return reportErrno(error);
  }
}

async function replace(path: string): Promise<number> {
  const before = statSync(path, { throwIfNoEntry: false });
  const part = partFor(path, before);
  // If the upload breaks off, sandboxd ends this process, and nothing of it stays.
  process.once('SIGTERM', () => {
    rmSync(part.path, { force: true });
    process.exit(1);
  });
  try {
    const file = createWriteStream(part.path, { fd: part.fd });
    await pipeline(process.stdin, file);
    if (before !== undefined && (part.isElsewhere || isMoreThanContent(before))) overwrite(path, part.path);
    else putInPlace(path, part.path, before);
    return file.bytesWritten;
  } finally {
    rmSync(part.path, { force: true });
  }
}

type Part = { readonly path: string; readonly fd: number; readonly isElsewhere: boolean };

/** Not next to its own name plus a suffix: that name may already have the greatest length. */
function partFor(path: string, before: Stats | undefined): Part {
  const name = `.${process.pid}.part`;
  const open = (folder: string) => ({ path: join(folder, name), fd: openSync(join(folder, name), 'wx') });
  try {
    return { ...open(dirname(path)), isElsewhere: false };
  } catch (error) {
    if (before === undefined || !isOwn(before)) throw error;
    return { ...open(tmpdir()), isElsewhere: true };
  }
}

/** Never a file of another user: it could read there what a grader writes. Root writes as it is. */
const isOwn = ({ uid }: Stats) => process.getuid?.() === root || uid === process.getuid?.();
const isMoreThanContent = (before: Stats) =>
  before.isFile() && isOwn(before) && (before.nlink > 1 || before.uid !== process.getuid?.());

function putInPlace(path: string, part: string, before: Stats | undefined): void {
  if (before !== undefined) chmodSync(part, before.mode & 0o777); // A script that is replaced stays executable.
  try {
    renameSync(part, path);
  } catch (error) {
    // A file that is a mount of its own, such as /etc/hosts.
    if (!(error instanceof Error && 'code' in error && error.code === 'EBUSY')) throw error;
    overwrite(path, part);
  }
}

/**
 * What goes beyond the old content is written first: if the disk has no room for it, that is taken back, and the old content stays. The rest
 * then lies in blocks that the file has. A file with holes, and a file system that never writes into a block again, may still lack them.
 */
function overwrite(path: string, part: string): void {
  const from = openSync(part, constants.O_RDONLY);
  const to = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  try {
    const before = fstatSync(to);
    if (!before.isFile()) throw Object.assign(new Error(`${path} is not a regular file`), { code: 'EINVAL' });
    const bytes = fstatSync(from).size;
    grow(from, to, before.size, bytes);
    copy(from, to, 0, Math.min(before.size, bytes));
    ftruncateSync(to, bytes);
  } finally {
    closeSync(from);
    closeSync(to);
  }
}

function grow(from: number, to: number, size: number, bytes: number): void {
  try {
    copy(from, to, size, bytes);
  } catch (error) {
    ftruncateSync(to, size);
    throw error;
  }
}

/** From one offset to another, each to its own place. */
function copy(from: number, to: number, start: number, end: number): void {
  const chunk = Buffer.allocUnsafe(64 * 1024);
  for (let at = start; at < end;) {
    const read = readSync(from, chunk, 0, Math.min(chunk.length, end - at), at);
    if (read === 0) return;
    for (let done = 0; done < read; done += writeSync(to, chunk, done, read - done, at + done));
    at += read;
  }
}

const root = 0;
const mayLead: ReadonlySet<number | undefined> = new Set([root, process.getuid?.()]);

/** As many as the kernel follows. */
const mostLinks = 40;

/**
 * Where a program that opens this name would write: links lead on, also to a file that does not exist yet. Links of other users are
 * replaced, so that the policy cannot choose which of a grader's files is written.
 */
function followed(named: string): string {
  let path = named;
  for (let links = 0; links <= mostLinks; links += 1) {
    path = join(realpathSync(dirname(path)), basename(path));
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found?.isSymbolicLink() !== true || !mayLead.has(found.uid)) return path;
    path = resolve(dirname(path), readlinkSync(path));
  }
  throw Object.assign(new Error(`${named} leads through too many links`), { code: 'ELOOP' });
}
