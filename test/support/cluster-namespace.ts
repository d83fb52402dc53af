import { type Cluster, kubectl } from '#infra/cluster/api.ts';
import { importImages } from '#infra/cluster/images/import.ts';
import { buildImage } from '#infra/images/build.ts';
import { untilPodsAreAccepted } from './kubectl.ts';

/** A new namespace that takes pods, in a cluster whose nodes have the bare image. */
export async function openNamespace(cluster: Cluster, name: string): Promise<void> {
  const { archive } = await buildImage('bare');
  await Promise.all(cluster.nodes.map((node) => importImages(cluster, node, [archive])));
  await kubectl(cluster, ['create', 'namespace', name]);
  await untilPodsAreAccepted(name);
}

/** With everything in it; resolves when that is accepted. */
export async function removeNamespace(cluster: Cluster, name: string): Promise<void> {
  await kubectl(cluster, ['delete', 'namespace', name, '--wait=false']);
}
