import { Failure } from '#src/failure/failure.ts';
import type { CreateRequest } from '#src/ports/sandbox-provider.ts';
import type { Log } from '#src/ports/log.ts';
import { joinPlacement } from '../pod/placement.ts';
import type { PodSettings } from '#src/model/cluster.ts';
import { isPod } from '../truth/objects.ts';
import type { NodeBook } from './node-book.ts';

/**
 * Whether pods run under ids of their own on their nodes (`hostUsers: false`), as `host_users` says:
 *
 *   auto      where every node says that its runtime can, and no runtime class stands in between; else not, and it is
 *             told once why. Nothing is found out by trying: a pod that its node cannot make so never starts.
 *   require   always; a pod that the API server made without is removed, and its start fails
 *   off       never asked for
 *
 * An API server that does not know the field drops it without a word, so it is read back from each created pod.
 */
export type HostUsers = {
  /** Whether this pod is to have ids of its own. */
  wants(request: CreateRequest): boolean;
  /**
   * Whether the pod, as the server has it, may be used; it has been told why where it was only wished for. A pod whose commands are
   * root asked for more rights with its ids, and has them without.
   */
  mayUse(object: unknown, request: CreateRequest): boolean;
  /** What this fleet cannot have, in sentences for a person. */
  limitations(): readonly string[];
};

export type HostUsersTools = {
  readonly settings: Pick<PodSettings, 'hostUsers' | 'placement'>;
  readonly nodes: Pick<NodeBook, 'withoutUserNamespaces'>;
  readonly log: Log;
};

export function createHostUsers({ settings, nodes, log }: HostUsersTools): HostUsers {
  const { hostUsers, placement } = settings;
  let told: string | null = null;

  const tell = (reason: string) => {
    if (told === reason) return;
    told = reason;
    log.warn('sandboxes have no ids of their own on their nodes', { reason });
  };
  const canAll = () => {
    const unable = nodes.withoutUserNamespaces();
    if (unable !== null) tell(unable);
    return unable === null;
  };
  return {
    wants: ({ template }) => {
      if (hostUsers !== 'auto') return hostUsers === 'require';
      if (told === dropped && template.runAs === 'root') return false;
      return joinPlacement(placement, template.placement).runtimeClass === null && canAll();
    },
    mayUse: (object, { template }) => {
      if (isPod(object) && object.spec?.hostUsers === false) return true;
      if (hostUsers === 'auto') tell(dropped);
      return hostUsers !== 'require' && template.runAs !== 'root';
    },
    limitations: () => (told === null ? [] : [`sandboxes share the user ids of their nodes: ${told}`]),
  };
}

const dropped =
  'the API server dropped hostUsers from a pod: it is older than Kubernetes 1.30, or the feature is off';

/** For `require`, and for a first root with `auto`: the pod is removed, and nothing ran in it. */
export const madeWithoutIds = () =>
  new Failure(
    'start_failed',
    `the sandbox needs user ids of its own, but ${dropped}. Use a newer cluster, or host_users: off`,
    { evidence: { hostUsers: 'dropped' } },
  );
