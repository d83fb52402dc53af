import type { V1PodSecurityContext, V1SecurityContext } from '@kubernetes/client-node';
import { ids, type Users } from './users.ts';

/**
 * Of the whole pod. The volumes belong to the commands' group, because nobody inside may give files away. Ids are set
 * on containers only: the pause process, which reaps orphans, keeps its own, and the policy cannot signal it.
 */
export function podSecurity(): V1PodSecurityContext {
  return {
    fsGroup: ids.policy,
    fsGroupChangePolicy: 'OnRootMismatch',
    seccompProfile: { type: 'RuntimeDefault' },
  };
}

/**
 * Of a container of ours. Two ids need a sandboxd that starts as root and may switch ids and stop other users'
 * processes, and nothing else: Pod Security `baseline`. With one id it needs no privilege at all: `restricted`.
 */
export function containerSecurity(users: Users): V1SecurityContext {
  return {
    allowPrivilegeEscalation: false,
    ...(users === 'single-user' ? oneId : startsAsRoot),
  };
}

type Ids = Pick<V1SecurityContext, 'runAsNonRoot' | 'runAsUser' | 'runAsGroup' | 'capabilities'>;

const oneId: Ids = {
  runAsNonRoot: true,
  runAsUser: ids.policy,
  runAsGroup: ids.policy,
  capabilities: { drop: ['ALL'] },
};

const startsAsRoot: Ids = {
  runAsUser: 0,
  runAsGroup: 0,
  capabilities: { drop: ['ALL'], add: ['SETUID', 'SETGID', 'KILL'] },
};
