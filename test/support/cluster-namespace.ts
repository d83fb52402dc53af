import { kubectl } from '../../infra/cluster/api.ts';
import type { Cluster } from '../../infra/cluster/api.ts';
import { importImages } from '../../infra/cluster/images/import.ts';
import { buildImage } from '../../infra/images/build.ts';

/** A new namespace that takes pods, in a cluster whose nodes have the bare image. */
export async function openNamespace(cluster: Cluster, name: string): Promise<void> {
  const { archive } = await buildImage('bare');
  await Promise.all(cluster.nodes.map((node) => importImages(node, [archive])));
  await kubectl(cluster, ['create', 'namespace', name]);
  // Until then pods are refused.
  const account = 'serviceaccount/default';
  await kubectl(cluster, ['wait', '--for=create', account, `--namespace=${name}`, '--timeout=30s']);
}

/** With everything in it; resolves when that is accepted. */
export async function removeNamespace(cluster: Cluster, name: string): Promise<void> {
  await kubectl(cluster, ['delete', 'namespace', name, '--wait=false']);
}
