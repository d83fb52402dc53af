import { realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Config } from '../config.ts';

type Whose = Pick<Config, 'userMode' | 'policyUid' | 'policyGid'>;

const othersMayWrite = 0o002;
const groupMayWrite = 0o020;
/** As on /tmp: who may write there may not take away what is another's. */
const sticky = 0o1000;

/**
 * Where a folder really is, if the policy can put nothing of its own there: it owns neither the folder nor one above it,
 * may not write in it, and can take none of them away. Null for all others, also for one that is not there or not named
 * from the root. What is returned is what was looked at: a link on the way could lead elsewhere later.
 */
export function keptFromPolicy(folder: string, whose: Whose): string | null {
  if (!folder.startsWith('/')) return null;
  try {
    const real = realpathSync(folder);
    if (whose.userMode !== 'two-user') return real;
    const [own, ...above] = foldersOf(real).map((each) => accessOf(each, whose));
    const isOpen = own !== 'none' || above.some((access) => access === 'whole');
    return isOpen ? null : real;
  } catch {
    return null;
  }
}

/** The folder and all above it. */
function foldersOf(path: string): readonly string[] {
  return path === '/' ? [path] : [path, ...foldersOf(dirname(path))];
}

/** What the policy may do in a folder: `own` is to add names, and to take away its own only. */
function accessOf(folder: string, { policyUid, policyGid }: Whose): 'whole' | 'own' | 'none' {
  const { uid, gid, mode } = statSync(folder);
  if (uid === policyUid) return 'whole';
  const mayWrite = (mode & othersMayWrite) !== 0 || (gid === policyGid && (mode & groupMayWrite) !== 0);
  if (!mayWrite) return 'none';
  return (mode & sticky) === 0 ? 'whole' : 'own';
}
