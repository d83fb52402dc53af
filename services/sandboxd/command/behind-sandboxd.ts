import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs';
import { payloadBehind } from '#src/protocol/sandboxd/payload-layout.ts';
import type { Config } from '../config.ts';
import { foldersAbove, placesOf } from '../programs/permissions.ts';

/** What a process is started with. */
type Start = {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
};

/**
 * The same process with less right to the CPU than sandboxd, for itself and all that it starts: what the policy burns
 * shall not keep us from answering. A program of the payload does it on the way. What might not start begins as it is: why
 * it does not is the kernel's to say, and a command that never ran is told as that. What then does not start all the same
 * (the policy took its file away in between) has ended with 127: that process is the policy's, whose word for our failure is
 * not taken.
 */
export function behindSandboxd<S extends Start>(start: S, { payload }: Pick<Config, 'payload'>): S {
  const [program = '', ...rest] = start.argv;
  const behind = payload === null ? null : payloadBehind(payload);
  // A controller of another version may have copied the payload without it.
  if (behind === null || !existsSync(behind)) return start;
  const path = placeOf(program, start);
  return path === null ? start : { ...start, argv: [behind, path, program, ...rest] };
}

/** Looking takes our own time: more folders than any image's PATH has are left to who starts the program. */
const mostFolders = 64;

/** Where the program is found, if everybody may run what is found first; null for all else. */
function placeOf(program: string, { cwd, env }: Start): string | null {
  const { PATH } = env;
  // Without a PATH the folders are the choice of who starts it.
  if (PATH === undefined && !program.includes('/')) return null;
  const found = placesOf(program, PATH ?? '', cwd, mostFolders).find(mayBeThere);
  return found !== undefined && everybodyMayRun(found) ? found : null;
}

/** What we may not look at may be there, for the command's user. */
function mayBeThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}

const othersMayRun = 0o001;
/** A program that is one itself, or a script with the program that runs it. */
const runnable = /^(?:\u007FELF|#![ \t]{0,9}(\/[^ \t\n]{1,255}))/;

/** A script's own interpreter that is a script again is rare enough to be left as it is. */
function everybodyMayRun(path: string): boolean {
  const found = runnable.exec(beginningFor(path));
  return found !== null && (found[1] === undefined || beginningFor(found[1]).startsWith('\u007FELF'));
}

/** How a file begins that everybody can reach and run; '' of all else. The workspace is closed, and so is what is in it. */
function beginningFor(path: string): string {
  try {
    const real = realpathSync.native(path);
    const isReachable = foldersAbove(real).every((folder) => isOpen(statSync(folder)));
    return isReachable ? beginningOf(real) : '';
  } catch {
    return '';
  }
}

const isOpen = ({ mode }: Stats) => (mode & othersMayRun) !== 0;

/** The kernel looks no further for what a file is. */
const beginningBytes = 256;
/** The file may be the policy's, who may put a pipe or a terminal in its place at any moment: nothing here may wait. */
const withoutWaiting = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

/** Of a file that everybody may run; '' of all else, and of what /proc makes up. */
function beginningOf(path: string): string {
  const file = openSync(path, withoutWaiting);
  try {
    const found = fstatSync(file);
    if (!found.isFile() || found.size === 0 || !isOpen(found)) return '';
    const bytes = Buffer.alloc(beginningBytes);
    return bytes.toString('latin1', 0, readSync(file, bytes));
  } finally {
    closeSync(file);
  }
}

/**
 * A working folder is entered before the user is switched, and sandboxd as root may lack the privilege to enter a folder
 * that only its owner may. Then the image's shell, already the command's user, enters it.
 */
export function enterable(
  cwd: string,
  argv: readonly string[],
): { readonly argv: readonly string[]; readonly cwd: string } {
  try {
    accessSync(cwd, constants.X_OK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES') {
      return { argv: ['/bin/sh', '-c', 'cd -- "$0" && exec "$@"', cwd, ...argv], cwd: '/' };
    }
  }
  return { argv, cwd };
}
