import { existsSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { isAtOrBelow } from '#src/protocol/sandboxd/at-or-below.ts';
import { realPathIn } from '#src/protocol/sandboxd/real-path-in.ts';
import { packageVariablesIn } from '#src/protocol/sandboxd/package-variables.ts';
import type { Config } from '../config.ts';

export const sanePath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Our own settings, and where the API server is: Kubernetes tells every container, also one that has no use for it. */
const notTheImages = /^(?:CORRAL_|KUBERNETES_(?:SERVICE|PORT)(?:_|$))/;

type Variables = Readonly<Record<string, string>>;

/**
 * The environment of commands: the image's own, which is ours without what its container was told, then what the call
 * adds. The payload's PATH and libraries are never in it: the loader gets them as arguments.
 */
export function commandEnv(
  own: NodeJS.ProcessEnv,
  workspace: string,
  added: Variables = {},
): Record<string, string> {
  const image = Object.entries(own).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !notTheImages.test(entry[0]),
  );
  return {
    PATH: sanePath,
    HOME: workspace,
    ...packageVariablesIn(own),
    ...Object.fromEntries(image),
    ...added,
  };
}

/** What of the image's environment a grader keeps beside the PATH: how text and time are written. */
const languageOnly = /^(?:LANG|LANGUAGE|LC_[A-Z]+|TZ)$/;

/**
 * The environment of the grader: nothing that names a folder of the policy's, neither for programs nor for what these
 * load by themselves (NODE_PATH, PYTHONPATH, the settings in a home). `changed`: folders that have what a policy left in another sandbox.
 * Mirrors of packages are the operator's.
 */
export function graderEnv(
  own: NodeJS.ProcessEnv,
  config: Config,
  home: string,
  added: Variables = {},
  changed: ReadonlySet<string> = new Set(),
): Record<string, string> {
  const kept = Object.entries(own).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && languageOnly.test(entry[0]),
  );
  const folders = (own['PATH'] ?? sanePath).split(':').map((each) => safeForGrader(each, config));
  const path = folders.filter(
    (each) => each !== null && ![...changed].some((other) => isAtOrBelow(each, other)),
  );
  return {
    ...packageVariablesIn(own),
    ...Object.fromEntries(kept),
    PATH: path.length === 0 ? sanePath : path.join(':'),
    HOME: home,
    CORRAL_WORKSPACE: config.workspace,
    ...added,
  };
}

/**
 * The same for a folder that graders name. In a root of their own they have what the image has there, and the policy can write its own
 * folders only.
 */
function safeForGrader(folder: string, config: Config): string | null {
  const { graderRoot, workspace, folders } = config;
  if (graderRoot === null || !folder.startsWith('/')) return keptFromPolicy(folder, config);
  const real = realPathIn(graderRoot, folder, readlinkSync);
  if (real === null || !existsSync(`${graderRoot}${real}`)) return null;
  if (openInGraderRoot.some((each) => isAtOrBelow(real, each))) return null;
  const isShared = [workspace, ...folders].some((each) =>
    isAtOrBelow(real, realPathIn(graderRoot, each, readlinkSync) ?? each),
  );
  return isShared ? keptFromPolicy(real, config) : real;
}

/** What graders run as the policy writes there too, and it stays for the next turn. */
const openInGraderRoot = ['/tmp', '/dev'];

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
