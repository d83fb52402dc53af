import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, kubectl } from '#infra/cluster/api.ts';
import { killKubelet, startKubelet } from '#infra/cluster/levers.ts';
import {
  type ClusterFleetOfTest,
  podEnvironment,
  startClusterFleetOfTest,
} from '#test/support/cluster-fleet.ts';
import { clusterOfTest } from '#test/support/cluster.ts';

/*
 * The pods of a node together use up the memory that the node has for pods. The kernel kills in them, and the kubelet reports no
 * `SystemOOM`. Environments with a request below their limit make it possible.
 */

let cluster: Cluster;
let corral: ClusterFleetOfTest;
beforeAll(async () => {
  cluster = await clusterOfTest();
  await onlyOnFirst('cordon');
  const pool = '{ min_ready: 3, max: 8 }';
  const overcommitted = podEnvironment('overcommitted', { pool }).replace(
    'memory: 128Mi',
    'memory: { request: 32Mi, limit: 384Mi }',
  );
  const promised = podEnvironment('promised', { pool });
  corral = await startClusterFleetOfTest({
    name: 'neighbors-memory',
    environments: { overcommitted, promised },
  });
});
afterAll(async () => {
  await corral.stop();
  await onlyOnFirst('uncordon');
  // A node takes no pods for five minutes after it was short of memory; a kubelet that starts again has forgotten that.
  await killKubelet(cluster, firstNode().name);
  await startKubelet(cluster, firstNode().name);
  await kubectl(cluster, [
    'wait',
    `node/${firstNode().name}`,
    '--for=condition=MemoryPressure=false',
    '--timeout=60s',
  ]);
});

const firstNode = () => {
  const [first] = cluster.nodes;
  if (first === undefined) throw new Error('the cluster has no node');
  return first;
};

/** All pods are to share a node. */
async function onlyOnFirst(verb: 'cordon' | 'uncordon'): Promise<void> {
  for (const { name } of cluster.nodes.slice(1)) await kubectl(cluster, [verb, name]);
}

const environmentOf = (rollout: string) => (rollout.startsWith('promised') ? 'promised' : 'overcommitted');
const call = (rollout: string, id: string, command: string) =>
  corral.rft.call({ trace: rollout, call: id, command, environment: environmentOf(rollout) });
const viewOf = async (rollout: string) => (await corral.native.get(`/v1/rollouts/${rollout}`)).body;

/** Runs `body` while the pods of the first node may use so many bytes more than now. */
async function whileShort<Result>(moreBytes: number, body: () => Promise<Result>) {
  const { controlGroup } = firstNode();
  const v1 = `/sys/fs/cgroup/memory/${controlGroup}/kubepods`;
  const isV1 = existsSync(v1);
  const group = isV1 ? v1 : `/sys/fs/cgroup/${controlGroup}/kubepods`;
  const limit = `${group}/${isV1 ? 'memory.limit_in_bytes' : 'memory.max'}`;
  const before = readFileSync(limit, 'utf8').trim();
  const used = Number(readFileSync(`${group}/${isV1 ? 'memory.usage_in_bytes' : 'memory.current'}`, 'utf8'));
  writeFileSync(limit, String(used + moreBytes));
  try {
    return await body();
  } finally {
    writeFileSync(limit, before);
  }
}

const mebibyte = 1024 * 1024;
const idle = ['promised_1', 'promised_2', 'honest_1', 'honest_2'];
const greedy = ['greedy_1', 'greedy_2', 'greedy_3', 'greedy_4'];

test('rollouts that did nothing are never scored for the memory that their neighbors used up', async () => {
  const opened = [...idle, ...greedy].map((rollout) => call(rollout, 'c1', 'echo done >> log'));
  for (const answer of await Promise.all(opened)) expect(answer).toMatchObject({ status: 200 });
  const hog = 'for i in 1 2 3 4 5 6; do dd if=/dev/zero of=/dev/null bs=356515840 count=1; done; echo over';
  const ends = await whileShort(300 * mebibyte, () =>
    Promise.all(greedy.map((rollout) => call(rollout, 'c2', hog))),
  );
  // Otherwise there was no shortage, and nothing is tested.
  expect(ends.filter(({ status }) => status === 503).length).toBeGreaterThan(0);

  for (const rollout of idle) {
    const grade = await corral.rft.grade({ trace: rollout, environment: environmentOf(rollout) });
    expect(await viewOf(rollout)).toMatchObject({ broken: null });
    if (grade.status !== 503) expect(grade).toMatchObject({ status: 200, body: { score: 1 } });
  }
  for (const rollout of greedy) {
    const { verdict } = (await viewOf(rollout)) as { verdict: { kind: string; suspected?: string } };
    if (verdict.kind === 'discard') expect(verdict).toMatchObject({ suspected: 'command' });
  }
});
