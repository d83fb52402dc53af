import { labelKeys } from '../pod/labels.ts';

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
