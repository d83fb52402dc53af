import { closeSync, constants, createReadStream, fstatSync, openSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { reportErrno } from './report-errno.ts';

/** Writes a regular file to stdout. Returns the exit code. */
export async function getFile(path: string): Promise<0 | 1> {
  try {
    await pipeline(createReadStream(path, { fd: openRegular(path) }), process.stdout);
    return 0;
  } catch (error) {
    return reportErrno(error);
  }
}

/** Opens without waiting: a named pipe that the policy left there would hold us for ever. */
export function openRegular(path: string): number {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  if (fstatSync(fd).isFile()) return fd;
  const code = fstatSync(fd).isDirectory() ? 'EISDIR' : 'EINVAL';
  closeSync(fd);
  throw Object.assign(new Error(`${path} is not a regular file`), { code });
}
