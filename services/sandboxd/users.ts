import { fileURLToPath } from 'node:url';
import { type NativeProgram, payloadNative } from '#src/protocol/sandboxd/payload-layout.ts';
import type { CommandUser, UserIsolation } from '#src/protocol/sandboxd/wire.ts';
import type { Config } from './config.ts';

/**
 * The role of a process. `queries` processes answer queries of an environment's databases. A `reader` keeps sandboxd's ids and reads files
 * with another user's rights, and that user has no rights to it. An `owner` keeps sandboxd's ids and writes what root owns in the image,
 * where no policy was.
 */
export type ProcessRole = CommandUser | 'queries' | 'reader' | 'owner';

/** Under which ids a process is started; `ids: null` keeps sandboxd's own. */
export type ProcessUser = {
  readonly name: ProcessRole;
  readonly ids: { readonly uid: number; readonly gid: number } | null;
  readonly umask: number;
  /** Where all its paths begin; null: in sandboxd's own root. */
  readonly root: string | null;
  /** How many processes and threads this user may have; null: no limit of its own. */
  readonly mostProcesses: number | null;
  /**
   * The size of the largest file. Null: none, since the sandbox has a disk of its own. On its node's disk it would fill that with one
   * large file before anything measures it.
   */
  readonly largestFileBytes: number | null;
  /** The program that becomes this user. */
  readonly enter: string;
  /** Where the sandbox has no room for another process, some of this user's make room for it; null: nobody's do. */
  readonly takesRoomOf: number | null;
};

/** As container engines start their commands. */
const policyUmask = 0o022;
/** Nothing that the others write is readable by anybody else. */
const closedUmask = 0o077;

/** A limit of the kernel for files anywhere, so also for those in shared memory. */
function largestFileBytes({ ownDiskMebibytes, shmMebibytes }: Config): number | null {
  return ownDiskMebibytes && Math.max(ownDiskMebibytes, shmMebibytes ?? 0) * 1024 * 1024;
}

export function processUser(config: Config, user: ProcessRole): ProcessUser {
  const umask = user === 'policy' || user === 'owner' ? policyUmask : closedUmask;
  const own = {
    name: user,
    ids: null,
    umask,
    root: null,
    mostProcesses: null,
    largestFileBytes: largestFileBytes(config),
    enter: nativeProgram(config, 'enter'),
    takesRoomOf: null,
  };
  if (config.userMode !== 'two-user') return own;
  const takesRoomOf = user === 'grader' ? null : config.policyUid;
  const mostProcesses = user === 'policy' ? config.policyProcesses : null;
  const root = user === 'grader' || user === 'queries' ? config.graderRoot : null;
  return { ...own, ids: idsOf(config, user), root, mostProcesses, takesRoomOf };
}

/** The policy's user for a grader: with the image's own programs, whatever the policy has made of those in its root. */
export const policyForGrader = (config: Config): ProcessUser => ({
  ...processUser(config, 'policy'),
  root: config.graderRoot,
});

/** Of the payload, or of the sources that we run from ourselves. */
export function nativeProgram({ payload }: Pick<Config, 'payload'>, program: NativeProgram): string {
  if (payload !== null) return payloadNative(payload, program);
  return fileURLToPath(new URL(`../../infra/payload/native/${program}-${process.arch}`, import.meta.url));
}

function idsOf(config: Config, user: ProcessRole): ProcessUser['ids'] {
  switch (user) {
    case 'reader':
    case 'owner':
      return null;
    case 'policy':
      return { uid: config.policyUid, gid: config.policyGid };
    case 'grader':
      return { uid: config.graderUid, gid: config.graderGid };
    case 'queries':
      return { uid: config.queryUid, gid: config.queryGid };
  }
}

/** What the outside is told: where commands have sandboxd's id, by need or by choice, it is one user. */
export function isolationOf(config: Config): UserIsolation {
  return config.userMode === 'two-user' ? 'two-user' : 'single-user';
}
