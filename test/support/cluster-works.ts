import { kubectl } from '../../infra/cluster/api.ts';
import type { Cluster } from '../../infra/cluster/api.ts';
import { until } from '../../infra/cluster/machine/until.ts';
import { createBusyboxPod, removePod } from './busybox-pod.ts';
import { removeNamespace } from './cluster-namespace.ts';

/** The longest pause of a client-go reflector between two tries: 30 s, and up to as much again by its jitter. */
const longestPauseMs = 60_000;

/**
 * After an outage of the API server the cluster's own parts come back to it one by one, each when its pause is over.
 * Resolves when the controllers give a new namespace its service account, and scheduler and kubelets run a new pod on
 * every node: before that, a test would meet this outage and not its own.
 */
export async function untilClusterWorks(cluster: Cluster): Promise<void> {
  await untilControllersFollow(cluster);
  await Promise.all(cluster.nodes.map(({ name }) => untilNodeTakesPods(cluster, name)));
}

async function untilControllersFollow(cluster: Cluster): Promise<void> {
  const namespace = 'works-again';
  await kubectl(cluster, ['create', 'namespace', namespace]);
  await until(
    { what: 'a service account in a new namespace', timeoutMs: 2 * longestPauseMs, everyMs: 200 },
    () => kubectl(cluster, ['get', 'serviceaccount', 'default', `--namespace=${namespace}`]).then(() => true),
  );
  await removeNamespace(cluster, namespace);
}

async function untilNodeTakesPods(cluster: Cluster, node: string): Promise<void> {
  const pod = `works-again-on-${node}`;
  await createBusyboxPod(cluster, pod, node, 2 * longestPauseMs);
  await removePod(cluster, pod);
}
