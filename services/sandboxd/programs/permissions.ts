import { realpathSync, type Stats, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Config } from '../config.ts';
import { processUser } from '../users.ts';

/*
 * What the policy's user may do, by the permission bits alone: it costs no process. Bits may say less than the kernel knows
 * (access lists, a security module), so what matters is asked again where they leave a doubt.
 */

/** Commands are in no group but their own. */
export type Who = { readonly uid: number; readonly gid: number };

export function policyIds(config: Config): Who {
  return (
    processUser(config, 'policy').ids ?? { uid: process.geteuid?.() ?? 0, gid: process.getegid?.() ?? 0 }
  );
}

/** As a file's mode writes them for everybody; of a folder, `execute` is to pass through it. */
export const rights = { read: 0o4, write: 0o2, execute: 0o1 } as const;

/** All of `wanted` on what is there, and a way to it. */
export function surelyMay(who: Who, path: string, wanted: number): boolean {
  return foundFor(who, path, wanted) !== null;
}

/** A file, that is, and one that runs. */
export function surelyRuns(who: Who, path: string): boolean {
  return foundFor(who, path, rights.execute)?.isFile() ?? false;
}

/** Looked at where it is and along every link on the way; null where anything is missing, or is closed to them. */
function foundFor(who: Who, path: string, wanted: number): Stats | null {
  try {
    const real = realpathSync.native(path);
    const found = statSync(real);
    const folders = new Set([...foldersAbove(path), ...foldersAbove(real)]);
    const isOpen = [...folders].every((each) => allows(statSync(each), who, rights.execute));
    return isOpen && allows(found, who, wanted) ? found : null;
  } catch {
    return null;
  }
}

/** By its own bits, whatever those of the folders above it are. */
export function allows({ mode, uid, gid }: Stats, who: Who, wanted: number): boolean {
  const bits = uid === who.uid ? mode >> 6 : gid === who.gid ? mode >> 3 : mode;
  return (bits & wanted) === wanted;
}

/** Where `exec` would look for a program: as it is named, or in each folder of the PATH. Relative ones begin in `folder`. */
export function placesOf(
  program: string,
  path: string,
  folder: string,
  mostFolders?: number,
): readonly string[] {
  if (program.includes('/')) return [resolve(folder, program)];
  return path.split(':', mostFolders).map((each) => resolve(folder, each === '' ? '.' : each, program));
}

/** The folder that it stands in, and all above that. */
export function foldersAbove(path: string): readonly string[] {
  const folder = dirname(path);
  return folder === path ? [] : [folder, ...foldersAbove(folder)];
}
