import { importImages } from '#infra/cluster/images/import.ts';
import { buildImage } from '#infra/images/build.ts';
import { clusterOfTest } from '../support/cluster.ts';

/** Every node has the images of this checkout before the first test, as if they had been pulled. */
export default async function giveImages(): Promise<void> {
  const cluster = await clusterOfTest();
  const archives: string[] = [];
  // One after the other: they share the payload and the packages.
  for (const image of ['corral', 'sandboxd', 'bare', 'redis'] as const) {
    archives.push((await buildImage(image)).archive);
  }
  await Promise.all(cluster.nodes.map((node) => importImages(cluster, node, archives)));
}
