import { accessSync, constants } from 'node:fs';
import { resolve } from 'node:path';
import type { LackingFolder, Lacks, NeededFolder, SandboxNeeds } from '#src/protocol/sandboxd/wire.ts';
import type { Config } from '../config.ts';
import type { Daemon } from '../daemon.ts';
import { accountsHere } from './accounts.ts';
import { hasRun } from './missing.ts';
import { policyIds, rights, surelyMay } from './permissions.ts';

/** As long as the look for missing programs may take. */
const longestMs = 20_000;

const nothing: Lacks = { folders: [] };

/**
 * What of a task's needs this sandbox does not meet. Only before the first command: later the policy may have changed it.
 * Permission bits mostly decide without a process; if they leave a doubt, the command's user looks. Throws `internal`.
 */
export async function lackingOf(daemon: Daemon, { folders, user }: SandboxNeeds): Promise<Lacks> {
  if (hasRun(daemon)) return nothing;
  const lacking = await lackingFolders(daemon, folders);
  if (hasRun(daemon)) return nothing;
  const other = user === undefined ? undefined : otherUser(daemon.config, user);
  return { folders: lacking, ...(other && { user: other }) };
}

async function lackingFolders(
  { config }: Daemon,
  folders: readonly NeededFolder[],
): Promise<readonly LackingFolder[]> {
  const absolute = folders.map(({ path, access }, index) => ({
    index,
    path: resolve(config.workspace, path),
    access,
  }));
  const doubtful = absolute.filter((each) => !surelyUsable(config, each));
  if (doubtful.length === 0) return [];
  const { askHelper } = await import('../helper/run.ts');
  const asked = ['lacking', JSON.stringify(doubtful)];
  const { errnos } = await askHelper(config, 'policy', asked, longestMs);
  return doubtful.flatMap(({ index, path }, place) => {
    const errno: unknown = Array.isArray(errnos) ? errnos[place] : null;
    return typeof errno === 'string' ? [{ index, path, errno }] : [];
  });
}

/** Whether it is mounted read-only is not a matter of its bits, but the kernel says so to every user. */
function surelyUsable(config: Config, { path, access }: NeededFolder): boolean {
  const wanted = access === 'enter' ? rights.execute : rights.write | rights.execute;
  if (!surelyMay(policyIds(config), `${path}/.`, wanted)) return false;
  if (access === 'enter') return true;
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Undefined: commands run as this user. */
function otherUser(config: Config, user: string): Lacks['user'] | undefined {
  const uid = /^\d+$/.test(user) ? Number(user) : uidOfName(user);
  if (uid === null) return 'absent';
  return uid === policyIds(config).uid ? undefined : 'another';
}

const uidOfName = (user: string): number | null =>
  accountsHere().find(({ name }) => name === user)?.uid ?? null;
