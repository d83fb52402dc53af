import { realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Config } from '../config.ts';

type Whose = Pick<Config, 'userMode' | 'policyUid' | 'policyGid'>;

const othersMayWrite = 0o002;
const groupMayWrite = 0o020;

/**
 * Whether the policy could put something of its own into this folder: it owns it or one above, or may write in one of
 * them. A folder that is not there, or not named from the root, counts as the policy's too: who knows what will be there.
 */
export function couldPolicyChange(folder: string, whose: Whose): boolean {
  if (!folder.startsWith('/')) return true;
  if (whose.userMode !== 'two-user') return false;
  try {
    return foldersOf(realpathSync(folder)).some((each) => isOpen(each, whose));
  } catch {
    return true;
  }
}

/** The folder and all above it. */
function foldersOf(path: string): readonly string[] {
  return path === '/' ? [path] : [path, ...foldersOf(dirname(path))];
}

function isOpen(folder: string, { policyUid, policyGid }: Whose): boolean {
  const { uid, gid, mode } = statSync(folder);
  if (uid === policyUid || (mode & othersMayWrite) !== 0) return true;
  return gid === policyGid && (mode & groupMayWrite) !== 0;
}
