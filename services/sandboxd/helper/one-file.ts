import {
  chmodSync,
  closeSync,
  constants,
  createWriteStream,
  fstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
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

/** Writes stdin to a file beside the target and renames it, so that nobody ever sees half of it. Returns the exit code. */
export async function putFile(path: string): Promise<0 | 1> {
  const part = `${path}.${process.pid}.part`;
  // An upload that broke off: sandboxd ends us, and nothing of it stays.
  process.once('SIGTERM', () => {
    rmSync(part, { force: true });
    process.exit(1);
  });
  try {
    mkdirSync(dirname(path), { recursive: true });
    const file = createWriteStream(part, { flags: 'wx' });
    await pipeline(process.stdin, file);
    keepMode(path, part);
    renameSync(part, path);
    process.stdout.write(JSON.stringify({ bytes: file.bytesWritten }));
    return 0;
  } catch (error) {
    rmSync(part, { force: true });
    return reportErrno(error);
  }
}

/** A script that is replaced stays executable. */
function keepMode(path: string, part: string): void {
  const before = statSync(path, { throwIfNoEntry: false });
  if (before !== undefined) chmodSync(part, before.mode & 0o777);
}
