import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';

/** Such files have some kilobytes. */
const mostBytes = 1024 * 1024;

/**
 * A small file of an image, which strangers have written. Empty for what is no file, and for one that would fill this process's memory. A link is
 * not followed, because it would lead to this machine's own files.
 */
export function readRegular(path: string): string {
  const fd = openOrNull(path);
  if (fd === null) return '';
  try {
    const found = fstatSync(fd);
    return found.isFile() && found.size <= mostBytes ? readFileSync(fd, 'utf8') : '';
  } finally {
    closeSync(fd);
  }
}

function openOrNull(path: string): number | null {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  } catch {
    return null;
  }
}
