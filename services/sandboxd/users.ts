import type { CommandUser, UserIsolation } from '#src/protocol/sandboxd/wire.ts';
import type { Config } from './config.ts';

/** Under which ids a process is started; `ids: null` keeps sandboxd's own. */
export type ProcessUser = {
  readonly name: CommandUser;
  readonly ids: { readonly uid: number; readonly gid: number } | null;
  readonly umask: number;
};

/** As people's own machines have it, where everybody has a group of their own. */
const policyUmask = 0o002;
/** Nothing that the grader writes is readable by anybody else. */
const graderUmask = 0o077;

export function processUser(config: Config, user: CommandUser): ProcessUser {
  const umask = user === 'grader' ? graderUmask : policyUmask;
  if (config.userMode !== 'two-user') return { name: user, ids: null, umask };
  const ids =
    user === 'grader'
      ? { uid: config.graderUid, gid: config.graderGid }
      : { uid: config.policyUid, gid: config.policyGid };
  return { name: user, ids, umask };
}

/** What the outside is told: where commands have sandboxd's id, by need or by choice, it is one user. */
export function isolationOf(config: Config): UserIsolation {
  return config.userMode === 'two-user' ? 'two-user' : 'single-user';
}
