import type { V1Namespace } from '@kubernetes/client-node';
import { fleetLabels } from './labels.ts';
import type { ManifestSettings } from './settings.ts';

type PodSecurity = 'baseline' | 'restricted';

/** One for the sandboxes, where nothing else lives, and one for the fleet's own processes. */
export const namespaces = ({ fleet, namespace, home, singleUid }: ManifestSettings): V1Namespace[] => [
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
