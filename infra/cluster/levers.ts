import { type Cluster, kubectl, untilApiAnswers } from './api.ts';
import {
  apiServer,
  controllerManager,
  scheduler,
  startApiServer as launchApiServer,
  startControllers,
} from './control-plane/start.ts';
import { killDaemon, signalDaemon, stopDaemon } from './machine/daemon.ts';
import { inNamespace } from './machine/namespace.ts';
import { run } from './machine/run.ts';
import { setWire } from './network.ts';
import { kubeletOf, startKubelet as launchKubelet } from './node/start.ts';
import { etcdAddress, type NodePlan } from './plan.ts';
import { restartServices } from './services/start.ts';

/** How tests break a cluster, and fix it again. Nodes are named as in the cluster: `n1`, `n2`. */

/** The node and its pods are reached by nobody and reach nobody; they go on. */
export const cutNode = (cluster: Cluster, node: string): Promise<void> =>
  setWire(cluster, nodeNamed(cluster, node), 'down');

export const joinNodeAgain = (cluster: Cluster, node: string): Promise<void> =>
  setWire(cluster, nodeNamed(cluster, node), 'up');

/** The kubelet stands still (SIGSTOP): the cluster gives the node up while its pods still answer. */
export const freezeKubelet = (cluster: Cluster, node: string): void =>
  signalDaemon(cluster.pids, kubeletOf(nodeNamed(cluster, node)), 'SIGSTOP');

export const thawKubelet = (cluster: Cluster, node: string): void =>
  signalDaemon(cluster.pids, kubeletOf(nodeNamed(cluster, node)), 'SIGCONT');

export const killKubelet = (cluster: Cluster, node: string): Promise<void> =>
  killDaemon(cluster.pids, kubeletOf(nodeNamed(cluster, node)));

/** After {@link killKubelet}; the node's containers have gone on meanwhile. */
export const startKubelet = (cluster: Cluster, node: string): Promise<void> =>
  launchKubelet(cluster, nodeNamed(cluster, node), cluster.programs);

/**
 * Every connection to the API ends, and nothing listens until {@link startApiServer}. Scheduler and controllers go with it,
 * as with a machine that runs them all. A controller manager that stays reads the nodes' leases again only after its pause
 * (client-go doubles it up to 30 s), takes all nodes for dead meanwhile, and has their pods killed.
 */
export async function stopApiServer(cluster: Cluster): Promise<void> {
  await stopControllers(cluster);
  await stopDaemon(cluster.pids, apiServer);
}

async function stopControllers({ pids }: Cluster): Promise<void> {
  await Promise.all([controllerManager, scheduler].map((part) => stopDaemon(pids, part)));
}

/** Resolves when it answers again. */
export async function startApiServer(cluster: Cluster): Promise<void> {
  launchApiServer(cluster);
  await untilApiAnswers(cluster);
  startControllers(cluster);
}

/**
 * Starts again whoever follows the API: scheduler, controllers, kubelets, and what makes Services work. After an outage of
 * the API server each of them first lets its pause pass (client-go doubles it up to 30 s and adds as much again by chance);
 * started again, it is back within seconds.
 */
export async function restartFollowers(cluster: Cluster): Promise<void> {
  await stopControllers(cluster);
  startControllers(cluster);
  const kubelets = cluster.nodes.map(async ({ name }) => {
    await killKubelet(cluster, name);
    await startKubelet(cluster, name);
  });
  await Promise.all([restartServices(cluster), ...kubelets]);
}

/**
 * Makes the cluster forget its past: a watch that resumes from a version before now is told 410 (Expired). The API server
 * is away meanwhile: it would go on to serve such a watch from its own memory, and a bookmark could still tell a watch the
 * very version that all before is forgotten of. What is written here makes that version one that no watch was told.
 */
export async function forgetHistory(cluster: Cluster): Promise<void> {
  await stopApiServer(cluster);
  const revision = await writeToEtcd(cluster, 'forgotten', 'all before this');
  await askEtcd(cluster, 'compaction', { revision, physical: true });
  await startApiServer(cluster);
}

/** Evicts every pod of the node, as an operator does before taking it away, and lets nothing new onto it. */
export async function drainNode(cluster: Cluster, node: string): Promise<void> {
  const withAll = ['--force', '--ignore-daemonsets', '--delete-emptydir-data', '--timeout=50s'];
  await kubectl(cluster, ['drain', node, ...withAll]);
}

/** No pod is placed on it any more; those that are there stay. */
export async function cordonNode(cluster: Cluster, node: string): Promise<void> {
  await kubectl(cluster, ['cordon', node]);
}

export async function uncordonNode(cluster: Cluster, node: string): Promise<void> {
  await kubectl(cluster, ['uncordon', node]);
}

function nodeNamed(cluster: Cluster, name: string): NodePlan {
  const node = cluster.nodes.find((each) => each.name === name);
  if (node !== undefined) return node;
  throw new Error(`the cluster ${cluster.name} has no node ${name}`);
}

const inBase64 = (text: string) => Buffer.from(text).toString('base64');

/** Resolves to the number of the change: etcd numbers them all. */
async function writeToEtcd(cluster: Cluster, key: string, value: string): Promise<string> {
  const answer = await askEtcd(cluster, 'put', { key: inBase64(key), value: inBase64(value) });
  return (JSON.parse(answer) as { readonly header: { readonly revision: string } }).header.revision;
}

/** etcd's JSON face, which spares us its own client. */
function askEtcd(cluster: Cluster, operation: string, question: object): Promise<string> {
  const url = `${etcdAddress}/v3/kv/${operation}`;
  return run(inNamespace(cluster.hub, ['curl', '-sSf', '--data', JSON.stringify(question), url]));
}
