import type { CommandUser, UserIsolation } from '#src/protocol/sandboxd/wire.ts';
import type { Config } from './config.ts';

/** Whose a process is; `queries`: who answers queries of an environment's databases. */
export type ProcessRole = CommandUser | 'queries';

/** Under which ids a process is started; `ids: null` keeps sandboxd's own. */
export type ProcessUser = {
  readonly name: ProcessRole;
  readonly ids: { readonly uid: number; readonly gid: number } | null;
  readonly umask: number;
  /** Where the sandbox has no room for another process, some of this user's make room for it; null: nobody's do. */
  readonly takesRoomOf: number | null;
};

/** As container engines start their commands. */
const policyUmask = 0o022;
/** Nothing that the others write is readable by anybody else. */
const closedUmask = 0o077;

export function processUser(config: Config, user: ProcessRole): ProcessUser {
  const umask = user === 'policy' ? policyUmask : closedUmask;
  if (config.userMode !== 'two-user') return { name: user, ids: null, umask, takesRoomOf: null };
  const takesRoomOf = user === 'grader' ? null : config.policyUid;
  return { name: user, ids: idsOf(config, user), umask, takesRoomOf };
}

function idsOf(config: Config, user: ProcessRole): NonNullable<ProcessUser['ids']> {
  switch (user) {
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
