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
  const ctr = [join(programs, 'ctr'), '-a', node.containerdSocket, '-n', criNamespace];
  for (const archive of archives) {
    await run([...ctr, 'images', 'import', archive], { timeoutMs });
  }
}
