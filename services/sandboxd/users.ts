import type { CommandUser, UserIsolation } from '../../src/protocol/sandboxd/wire.ts';
import type { Config } from './config.ts';

/** Under which ids a process is started; `ids: null` keeps sandboxd's own. */
export type ProcessUser = {
  readonly ids: { readonly uid: number; readonly gid: number } | null;
  readonly umask: number;
};

/** The policy's files are the group's to change: the grader, in the same group, works on them. */
const policyUmask = 0o002;
/** Nothing that the grader writes is readable by the policy, although they share a group. */
const graderUmask = 0o077;

export function processUser(config: Config, user: CommandUser): ProcessUser {
  const umask = user === 'grader' ? graderUmask : policyUmask;
  if (config.userMode !== 'two-user') return { ids: null, umask };
  const uid = user === 'grader' ? config.graderUid : config.policyUid;
  return { ids: { uid, gid: config.policyGid }, umask };
}

/** What the outside is told: where commands have sandboxd's id, by need or by choice, it is one user. */
export function isolationOf(config: Config): UserIsolation {
  return config.userMode === 'two-user' ? 'two-user' : 'single-user';
}
