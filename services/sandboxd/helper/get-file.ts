import { closeSync, constants, createReadStream, fstatSync, openSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { reportErrno } from './report-errno.ts';

/**
 * Writes a regular file to stdout, as long as it is found to be; one of more than `mostBytes` is EFBIG before the first byte.
 * Returns the exit code.
 */
export async function getFile(path: string, mostBytes: number): Promise<0 | 1> {
  try {
    const fd = openRegular(path);
    const { size } = fstatSync(fd);
    if (size > mostBytes)
      throw Object.assign(new Error(`${path} has more than ${mostBytes} bytes`), { code: 'EFBIG' });
    // What the kernel makes up while it is read (`/proc`) has no size.
    const range = size === 0 ? {} : { end: size - 1 };
    await pipeline(createReadStream(path, { fd, ...range }), process.stdout);
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
