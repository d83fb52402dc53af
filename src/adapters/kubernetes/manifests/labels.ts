import type { PodSettings } from '#src/model/cluster.ts';
import { labelKeys } from '../pod/labels.ts';

/** `home`: the namespace of the fleet's own processes; never that of its sandboxes. */
export type ManifestSettings = Pick<
  PodSettings,
  'fleet' | 'namespace' | 'networks' | 'port' | 'singleUid'
> & {
  readonly home: string;
};

/** Everything that a fleet needs of a cluster carries it, so that it can be removed by it. */
export const fleetLabels = (fleet: string): Record<string, string> => ({
  [labelKeys.managedBy]: 'corral',
  [labelKeys.fleet]: fleet,
});

/** By these the sandboxes' network policy knows the pods of a fleet's own processes. */
export const processLabels = {
  partOf: 'app.kubernetes.io/part-of',
  component: 'app.kubernetes.io/component',
};
