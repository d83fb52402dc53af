import type { V1Pod } from '@kubernetes/client-node';
import { podFor } from '#src/adapters/kubernetes/pod/pod.ts';
import type { PodSettings } from '#src/model/cluster.ts';
import type { Template } from '#src/model/environment.ts';
import { sandboxId } from '#src/model/ids.ts';
import type { CreateRequest } from '#src/ports/sandbox-provider.ts';
import { tokenSha256 } from '#src/platform/tokens.ts';

/** Requests for sandboxes of one template, with names that begin alike. */
export function requestsFor(template: Template, prefix: string, count: number): readonly CreateRequest[] {
  return Array.from({ length: count }, (_, index) => ({
    sandbox: sandboxId(`${prefix}-${index}`),
    template,
    tokenSha256: tokenSha256('bench'),
  }));
}

/** The pods that a fleet of another name would make for them: the same size, and no fleet's concern. */
export function barePods(requests: readonly CreateRequest[], settings: PodSettings): readonly V1Pod[] {
  return requests.map((request) => podFor(request, { ...settings, fleet: bareFleet }));
}

/** No fleet has this name. */
export const bareFleet = 'bare';
