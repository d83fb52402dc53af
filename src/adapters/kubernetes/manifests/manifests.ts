import { access } from './access.ts';
import { networkPolicies } from './network-policies.ts';
import type { ManifestSettings } from './settings.ts';
import type { V1Namespace } from '@kubernetes/client-node';
import { fleetLabels } from './labels.ts';

/**
 * Everything that a fleet needs of a cluster before its processes start, in the order in which it can be created. Its
 * sandboxes are all that comes later, and they are the controller's.
 */
export const manifests = (settings: ManifestSettings): readonly object[] => [
  ...namespaces(settings),
  ...access(settings),
  ...networkPolicies(settings),
];

type PodSecurity = 'baseline' | 'restricted';

/** One for the sandboxes, where nothing else lives, and one for the fleet's own processes. */
const namespaces = ({ fleet, namespace, home, singleUid }: ManifestSettings): V1Namespace[] => [
  // Two ids inside need a sandboxd that starts as root, which `restricted` does not admit.
  namespaceOf(namespace, fleet, singleUid ? 'restricted' : 'baseline'),
  namespaceOf(home, fleet, 'restricted'),
];

/** The API server refuses what a pod may not be, also where our own pod spec were wrong. */
const namespaceOf = (name: string, fleet: string, level: PodSecurity): V1Namespace => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels: { ...fleetLabels(fleet), 'pod-security.kubernetes.io/enforce': level } },
});
