import { fileURLToPath } from 'node:url';
import { CommandError } from '#cli/command-error.ts';
import { openCluster } from '#infra/cluster/cluster-file.ts';
import { clusterVariable, runInCluster } from '#infra/cluster/enter.ts';
import { importImages } from '#infra/cluster/images/import.ts';
import { buildImage } from '#infra/images/build.ts';

/**
 * Plays the soak again inside this machine's test cluster, whose pods are reached from nowhere else: the one that CORRAL_CLUSTER names,
 * or `dev`. Resolves with the exit code.
 */
export async function soakInTestCluster(args: readonly string[]): Promise<number> {
  const cluster = await openCluster(process.env[clusterVariable] ?? 'dev');
  if (cluster.nodes.length === 0)
    throw new CommandError('the cluster has no node', 'yours', 'start one with nodes');
  const { archive } = await buildImage('bare');
  await Promise.all(cluster.nodes.map((node) => importImages(cluster, node, [archive])));
  const main = fileURLToPath(new URL('../soak.ts', import.meta.url));
  return runInCluster(cluster, [process.execPath, ...process.execArgv, main, ...args]);
}
