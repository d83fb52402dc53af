import { existsSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { nodesOf } from '#infra/cluster/api.ts';
import { takeDown } from '#infra/cluster/down.ts';
import { leftBehind } from '#infra/cluster/left-behind.ts';
import { killKubelet } from '#infra/cluster/levers.ts';
import { killDaemon } from '#infra/cluster/machine/daemon.ts';
import { containerdOf } from '#infra/cluster/node/start.ts';
import { startCluster } from '#infra/cluster/up.ts';
import { createBusyboxPod } from '#test/support/busybox-pod.ts';
import { clusterOfTest } from '#test/support/cluster.ts';
import { eventually } from '#test/support/eventually.ts';

/** A second cluster, beside the one in whose hub this runs. */
const name = 'second';
const start = () =>
  startCluster({ name, nodes: 1, fakeNodes: 2, nodeLoss: 'patient', images: [] }, () => undefined);
afterEach(() => takeDown(name));

const readyNodes = async () => (await nodesOf(await clusterOfTest())).map((node) => node.ready);

/** Where the node's programs write beside their own folders, if they see the machine's file system. */
const places = ['/run/containerd', '/var/lib/kubelet', '/var/lib/cni', '/var/log/containers'];

test('a cluster that ran pods is taken down without a trace, and the other goes on', async () => {
  const before = places.map(existsSync);
  const cluster = await start();
  expect((await nodesOf(cluster)).map((node) => node.name)).toEqual(['fake-0', 'fake-1', 'n1']);
  await createBusyboxPod(cluster, 'running', 'n1');
  expect(await leftBehind(name)).not.toEqual([]);
  await takeDown(name);
  expect(await leftBehind(name)).toEqual([]);
  expect(places.map(existsSync)).toEqual(before);
  // While another cluster starts on two cores, a heartbeat may be late.
  await eventually(readyNodes, ['True', 'True']);
});

test('a cluster whose containerd and kubelet were killed is taken down without a trace too', async () => {
  const cluster = await start();
  await createBusyboxPod(cluster, 'orphan', 'n1');
  await killKubelet(cluster, 'n1');
  for (const node of cluster.nodes) await killDaemon(cluster.pids, containerdOf(node));
  await takeDown(name);
  expect(await leftBehind(name)).toEqual([]);
});

test('a name that is taken is refused, and the cluster of that name goes on', async () => {
  const { name: taken } = await clusterOfTest();
  const again = startCluster(
    { name: taken, nodes: 1, fakeNodes: 0, nodeLoss: 'fast', images: [] },
    () => undefined,
  );
  await expect(again).rejects.toThrow(`a cluster "${taken}" is up`);
  expect(await nodesOf(await clusterOfTest())).toHaveLength(2);
});
