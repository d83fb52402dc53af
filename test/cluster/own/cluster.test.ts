import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, kubectl, nodesOf } from '#infra/cluster/api.ts';
import { clusterOfTest } from '#test/support/cluster.ts';
import { addressOf, createBusyboxPod, removePod } from '#test/support/busybox-pod.ts';

let cluster: Cluster;
beforeAll(async () => {
  cluster = await clusterOfTest();
});
afterAll(() => removePod(cluster, 'greeter'));

test('a cluster that is up has two nodes, both Ready', async () => {
  expect(await nodesOf(cluster)).toEqual([
    { name: 'n1', ready: 'True', fake: false },
    { name: 'n2', ready: 'True', fake: false },
  ]);
});

test('a pod runs, takes commands, and is reached at its own address from where the tests run', async () => {
  await createBusyboxPod(cluster, 'greeter', 'n1');
  expect(await kubectl(cluster, ['exec', 'greeter', '--', 'echo', 'hello'])).toBe('hello\n');
  const answer = await fetch(`http://${await addressOf(cluster, 'greeter')}:8080/greeting`);
  expect(await answer.text()).toBe('hello\n');
});
