import { run } from '../machine/run.ts';
import type { NodePlan } from '../plan.ts';

/** Where the kubelet looks for images. */
const criNamespace = 'k8s.io';
/** A Node.js image of 115 MB takes 2 s on an idle machine. */
const timeoutMs = 120_000;

/** Gives the images in OCI or Docker archives to a node, as if they had been pulled. */
export async function importImages(node: NodePlan, archives: readonly string[]): Promise<void> {
  for (const archive of archives) {
    const command = ['ctr', '-a', node.containerdSocket, '-n', criNamespace, 'images', 'import', archive];
    await run(command, { timeoutMs });
  }
}
