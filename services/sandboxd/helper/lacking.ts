import { accessSync, constants, readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { isAtOrBelow } from '#src/protocol/sandboxd/at-or-below.ts';
import type { NeededFolder } from '#src/protocol/sandboxd/wire.ts';

/** Reports as JSON which folders this user cannot use as needed: position in the list → errno of the kernel. */
export function reportLacking(folders: string): 0 {
  const needed = JSON.parse(folders) as readonly NeededFolder[];
  const errnos = needed.map((each) => errnoOf(() => checkFolder(each)));
  process.stdout.write(JSON.stringify({ errnos }));
  return 0;
}

/** Throws what the system says. */
function checkFolder({ path, access }: NeededFolder): void {
  const { W_OK, X_OK } = constants;
  const folder = access === 'make' ? nearestExisting(resolve(path)) : resolve(path);
  if (access !== 'enter' && isReadOnlyMount(folder)) throw kernelError('EROFS');
  accessSync(folder, access === 'enter' ? X_OK : W_OK | X_OK);
  if (!statSync(folder).isDirectory()) throw kernelError('ENOTDIR');
}

const kernelError = (code: string) => Object.assign(new Error(code), { code });

/** The kernel looks at permissions first, and changing those would not help here. */
function isReadOnlyMount(folder: string): boolean {
  const path = realpathSync(folder);
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' '))
    .map(([, , , , at = '', options = '']) => ({ at, options }))
    .filter(({ at }) => at === '/' || isAtOrBelow(path, at));
  // Of mounts at one place the last one counts.
  const nearest = mounts.findLast(({ at }) => mounts.every((other) => other.at.length <= at.length));
  return nearest?.options.split(',').includes('ro') ?? false;
}

/** The folder itself, or the one above it in which it would be created. */
function nearestExisting(path: string): string {
  if (errnoOf(() => statSync(path)) !== 'ENOENT' || path === '/') return path;
  return nearestExisting(dirname(path));
}

function errnoOf(step: () => unknown): string | null {
  try {
    step();
    return null;
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : 'EIO';
  }
}
