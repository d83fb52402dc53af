import type { PodSettings } from '#src/model/cluster.ts';

/** `home`: the namespace of the fleet's own processes; never that of its sandboxes. */
export type ManifestSettings = Pick<
  PodSettings,
  'fleet' | 'namespace' | 'networks' | 'port' | 'singleUid'
> & {
  readonly home: string;
};
