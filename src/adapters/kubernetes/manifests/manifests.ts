import { access } from './access.ts';
import { namespaces } from './namespaces.ts';
import { networkPolicies } from './network-policies.ts';
import type { ManifestSettings } from './settings.ts';

/**
 * Everything that a fleet needs of a cluster before its processes start, in the order in which it can be created. Its
 * sandboxes are all that comes later, and they are the controller's.
 */
export const manifests = (settings: ManifestSettings): readonly object[] => [
  ...namespaces(settings),
  ...access(settings),
  ...networkPolicies(settings),
];
