import type { Cluster } from '#infra/cluster/api.ts';
import { openCluster } from '#infra/cluster/cluster-file.ts';
import { clusterVariable } from '#infra/cluster/enter.ts';

/** The cluster in whose hub this test runs; only one that `infra/cluster` started can be broken and fixed. */
export function clusterOfTest(): Promise<Cluster> {
  const name = process.env[clusterVariable];
  if (name === undefined) throw new Error('no cluster: run it with `npm run test:cluster`');
  return openCluster(name);
}
