import { join } from 'node:path';
import type { Cluster } from '../api.ts';
import { run } from '../machine/run.ts';
import type { NodePlan } from '../plan.ts';

/** Where the kubelet looks for images. */
const criNamespace = 'k8s.io';
/** A Node.js image of 115 MB takes 2 s on an idle machine. */
const timeoutMs = 120_000;

/** Gives the images in OCI or Docker archives to a node, as if they had been pulled. */
export async function importImages(
  { programs }: Pick<Cluster, 'programs'>,
  node: NodePlan,
  archives: readonly string[],
): Promise<void> {
  for (const archive of archives) {
    await run([...ctrOf(programs, node), 'images', 'import', archive], { timeoutMs });
  }
}

/** Removes an image and its layers from a node, unless other images or containers there have them. */
export async function removeImage(
  { programs }: Pick<Cluster, 'programs'>,
  node: NodePlan,
  name: string,
): Promise<void> {
  await run([...ctrOf(programs, node), 'images', 'remove', '--sync', name], { timeoutMs });
}

const ctrOf = (programs: string, { containerdSocket }: NodePlan): readonly string[] => [
  join(programs, 'ctr'),
  '-a',
  containerdSocket,
  '-n',
  criNamespace,
];
