import {
  chmodSync,
  closeSync,
  constants,
  createWriteStream,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
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

/** Writes stdin to a file next to its place and renames it, so that no program reads half of it. Returns the exit code. */
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
  // Its own name may be as long as names can be.
  const part = join(dirname(path), `.${process.pid}.part`);
  // If the upload breaks off, sandboxd ends this process, and nothing of it stays.
  process.once('SIGTERM', () => {
    rmSync(part, { force: true });
    process.exit(1);
  });
  try {
    const file = createWriteStream(part, { flags: 'wx' });
    await pipeline(process.stdin, file);
    keepMode(path, part);
    renameSync(part, path);
    return file.bytesWritten;
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
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

/** A script that is replaced stays executable. */
function keepMode(path: string, part: string): void {
  const before = statSync(path, { throwIfNoEntry: false });
  if (before !== undefined) chmodSync(part, before.mode & 0o777);
}
