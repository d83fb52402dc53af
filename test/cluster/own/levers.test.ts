import { afterEach, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { type Cluster, kubectl, nodesOf, untilNodesAreReady } from '#infra/cluster/api.ts';
import {
  cutNode,
  drainNode,
  forgetHistory,
  freezeKubelet,
  joinNodeAgain,
  killKubelet,
  startApiServer,
  startKubelet,
  stopApiServer,
  thawKubelet,
  uncordonNode,
} from '#infra/cluster/levers.ts';
import { addressOf, createBusyboxPod, removePod } from '#test/support/busybox-pod.ts';
import { clusterOfTest } from '#test/support/cluster.ts';
import { untilClusterWorks } from '#test/support/cluster-works.ts';

/** What each lever does to a node or a pod, since tests of our own code are built upon it. */
let cluster: Cluster;
let address: string;
beforeAll(async () => {
  cluster = await clusterOfTest();
});
beforeEach(async () => {
  await createBusyboxPod(cluster, 'witness', 'n2');
  address = await addressOf(cluster, 'witness');
});
afterEach(async () => {
  await removePod(cluster, 'witness');
  await untilNodesAreReady(cluster);
});

const readyOf = async (name: string) => (await nodesOf(cluster)).find((node) => node.name === name)?.ready;
const answers = () =>
  fetch(`http://${address}:8080/greeting`, { signal: AbortSignal.timeout(2_000) }).then(
    (answer) => answer.ok,
    () => false,
  );

test('a node that is cut off is given up, its pods answer nobody; joined again, it is Ready', async () => {
  await cutNode(cluster, 'n2');
  expect(await answers()).toBe(false);
  await expect.poll(() => readyOf('n2')).toBe('Unknown');
  await joinNodeAgain(cluster, 'n2');
  await expect.poll(() => readyOf('n2')).toBe('True');
});

test('a node whose kubelet stands still is given up while its pods answer', async () => {
  freezeKubelet(cluster, 'n2');
  await expect.poll(() => readyOf('n2')).toBe('Unknown');
  expect(await answers()).toBe(true);
  thawKubelet(cluster, 'n2');
  await expect.poll(() => readyOf('n2')).toBe('True');
});

test('a node whose kubelet is killed is given up while its pods answer; a new kubelet brings it back', async () => {
  await killKubelet(cluster, 'n2');
  await expect.poll(() => readyOf('n2')).toBe('Unknown');
  expect(await answers()).toBe(true);
  await startKubelet(cluster, 'n2');
  await expect.poll(() => readyOf('n2')).toBe('True');
});

test('without the API server pods answer; it comes back with what it knew', async () => {
  onTestFinished(() => untilClusterWorks(cluster));
  await stopApiServer(cluster);
  expect(await answers()).toBe(true);
  await startApiServer(cluster);
  expect(await addressOf(cluster, 'witness')).toBe(address);
});

type PodList = { readonly metadata: { readonly resourceVersion: string } };

test('after the history is forgotten a watch from before it is told 410', async () => {
  const pods = '/api/v1/namespaces/default/pods';
  const list = JSON.parse(await kubectl(cluster, ['get', '--raw', pods])) as PodList;
  onTestFinished(() => untilClusterWorks(cluster));
  await forgetHistory(cluster);
  const watch = `${pods}?watch=1&timeoutSeconds=1&resourceVersion=${list.metadata.resourceVersion}`;
  expect(await kubectl(cluster, ['get', '--raw', watch])).toContain('"code":410');
});

test('a drained node has no pods and takes none until it is uncordoned', async () => {
  await drainNode(cluster, 'n2');
  expect(await kubectl(cluster, ['get', 'pods', '-o', 'name'])).toBe('');
  const unschedulable = () => kubectl(cluster, ['get', 'node', 'n2', '-o', 'jsonpath={.spec.unschedulable}']);
  expect(await unschedulable()).toBe('true');
  await uncordonNode(cluster, 'n2');
  expect(await unschedulable()).toBe('');
});
