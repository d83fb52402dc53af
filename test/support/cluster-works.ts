import { randomUUID } from 'node:crypto';
import { type Cluster, kubectl } from '#infra/cluster/api.ts';
import { restartFollowers } from '#infra/cluster/levers.ts';
import { createBusyboxPod, removePod } from './busybox-pod.ts';
import { removeNamespace } from './cluster-namespace.ts';
import { untilPodsAreAccepted } from './kubectl.ts';

/**
 * To be called after an outage of the API server, lest the next tests meet that and not their own: resolves when the
 * controllers give a new namespace its service account, and scheduler and kubelets run a new pod on every node.
 */
export async function untilClusterWorks(cluster: Cluster): Promise<void> {
  await restartFollowers(cluster);
  await untilControllersFollow(cluster);
  await Promise.all(cluster.nodes.map(({ name }) => untilNodeTakesPods(cluster, name)));
}

async function untilControllersFollow(cluster: Cluster): Promise<void> {
  // An earlier one may still be on its way out.
  const namespace = `works-again-${randomUUID()}`;
  await kubectl(cluster, ['create', 'namespace', namespace]);
  await untilPodsAreAccepted(namespace);
  await removeNamespace(cluster, namespace);
}

async function untilNodeTakesPods(cluster: Cluster, node: string): Promise<void> {
  const pod = `works-again-on-${node}`;
  await createBusyboxPod(cluster, pod, node);
  await removePod(cluster, pod);
}
