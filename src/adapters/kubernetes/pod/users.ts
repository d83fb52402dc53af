import type { V1Capabilities, V1PodSecurityContext, V1SecurityContext } from '@kubernetes/client-node';
import { Failure } from '#src/failure/failure.ts';
import type { PodSettings } from '#src/model/cluster.ts';
import { rootCapabilities, type Template } from '#src/model/environment.ts';

/** sandboxd's own words for who runs as whom; see services/sandboxd/README.md. */
export type Users = 'two-user' | 'single-user' | 'root';

/** The ids of commands and of graders, each the number of a user and of its group. */
export const ids = { policy: 1000, grader: 1001 } as const;

/** Throws `start_failed` where the operator's one id and the template's root cannot both be. */
export function usersOf(template: Template, { singleUid }: Pick<PodSettings, 'singleUid'>): Users {
  if (template.runAs === 'root') {
    if (singleUid) throw new Failure('start_failed', noRoot, { evidence: { runAs: 'root' } });
    return 'root';
  }
  return singleUid || template.uid === 'single' ? 'single-user' : 'two-user';
}

const noRoot =
  'run_as: root is not offered by this fleet, whose sandboxes run under one ordinary id: leave it out, or ask the operator';

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

/**
 * Of the sandbox's own container. `ownIds`: the ids inside are no other pod's on the node and have no rights there. Then commands
 * that are root have the rights of a container's root: they change owners and install packages. `baseline` admits them.
 */
export function sandboxSecurity(users: Users, ownIds: boolean): V1SecurityContext {
  if (users !== 'root' || !ownIds) return containerSecurity(users);
  return { allowPrivilegeEscalation: false, ...startsAsRoot, capabilities: rootOfContainer };
}

type Ids = Pick<V1SecurityContext, 'runAsNonRoot' | 'runAsUser' | 'runAsGroup' | 'capabilities'>;

const oneId: Ids = {
  runAsNonRoot: true,
  runAsUser: ids.policy,
  runAsGroup: ids.policy,
  capabilities: { drop: ['ALL'] },
};

const needed = ['SETUID', 'SETGID', 'KILL'];

const startsAsRoot: Ids = {
  runAsUser: 0,
  runAsGroup: 0,
  capabilities: { drop: ['ALL'], add: needed },
};

/** `rootCapabilities` and what sandboxd needs. */
const rootOfContainer: V1Capabilities = { drop: ['ALL'], add: [...needed, ...rootCapabilities] };
