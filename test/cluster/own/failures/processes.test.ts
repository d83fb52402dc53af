import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type ClusterFleetOfTest,
  podEnvironment,
  podResources,
  startClusterFleetOfTest,
} from '#test/support/cluster-fleet.ts';
import { apiCallsOf, writesIn } from '#test/support/controller-metrics.ts';
import { startExtraController } from '#test/support/extra-part.ts';
import { ran, rolloutsOf } from '#test/support/pod-rollouts.ts';

/** Our own processes die over pods that go on. In `slow` a launch takes long enough to be caught in its middle. */
const environments = {
  shell: podEnvironment('shell', { pool: '{ min_ready: 2, max: 16 }' }),
  slow: podEnvironment('slow', {
    sandbox: `image: "corral.local/bare:dev", ${podResources}, prepare: [[sleep, "4"]]`,
    pool: '{ min_ready: 0, max: 16 }',
  }),
};

let corral: ClusterFleetOfTest;
beforeAll(async () => {
  corral = await startClusterFleetOfTest({ name: 'processes', environments, keepRecords: true });
});
afterAll(() => corral.stop());

const warm = rolloutsOf(() => corral, 'shell');
const slow = rolloutsOf(() => corral, 'slow');

/** Beside those that are kept ready for `shell`. */
const slowPods = async () => (await corral.pods()).length - 2;

test('a controller is killed in the middle of a launch: the next one goes on with the same pod, and the call is served', async () => {
  const held = slow.call('launching', 'c1');
  await expect.poll(slowPods).toBe(1);
  await corral.killPart('controller');
  expect(await held).toMatchObject(ran(1));
  await slow.expectScored('launching', 1);
  await expect.poll(slowPods).toBe(0);
  // A second pod would be in the new controller's count; it has found the first one there.
  const creates = (await apiCallsOf(corral.fleet.controllerUrl)).filter(({ verb }) => verb === 'create');
  expect(creates.filter(({ code }) => code === '201')).toEqual([]);
});

test('two controllers and a burst: one pod for each rollout, each written to as if there was one, and either may go', async () => {
  const extra = await startExtraController(corral.fleet, corral.environmentsDir, {
    kind: 'kubernetes',
    clusterFile: corral.clusterFile,
    kubeconfig: corral.cluster.kubeconfig,
  });
  const writes = async () =>
    writesIn([...(await apiCallsOf(corral.fleet.controllerUrl)), ...(await apiCallsOf(extra.url))]);
  const before = await writes();
  try {
    const traces = Array.from({ length: 6 }, (_, index) => `two-${index}`);
    for (const answer of await Promise.all(traces.map((trace) => slow.call(trace, 'c1'))))
      expect(answer).toMatchObject(ran(1));
    const held = await Promise.all(traces.map((trace) => corral.podOf(trace)));
    expect(new Set(held.map(({ sandbox }) => sandbox)).size).toBe(traces.length);
    await Promise.all(traces.map((trace) => slow.expectScored(trace, 1)));
    await expect.poll(slowPods).toBe(0);
    // One create, one label, one removal; and another removal where a node takes longer than eight seconds to end its pod.
    expect((await writes()) - before).toBeLessThanOrEqual(traces.length * 4);
  } finally {
    await extra.stop();
  }
  expect(await warm.call('after-two', 'c1')).toMatchObject(ran(1));
});

test('the gateway is killed while a command runs in a pod: the repeat gets its answer, and it ran once', async () => {
  const command = 'echo ran >> log; sleep 3; cat log';
  const { answer } = await warm.running('gateway', command);
  const cut = expect(answer).rejects.toThrow('fetch failed');
  await corral.killPart('gateway');
  await cut;
  expect(await warm.call('gateway', 'c1', command)).toMatchObject(ran(1));
  await warm.expectScored('gateway', 1);
});

test('Redis is killed and comes back with its file while a command runs in a pod: its answer comes, and all is scored', async () => {
  const { answer, sandbox } = await warm.running('redis', 'echo ran >> log; sleep 3; cat log');
  await corral.killPart('redis');
  expect(await answer).toMatchObject(ran(1));
  expect(await warm.call('redis', 'c2')).toMatchObject(ran(2));
  expect(await corral.podOf('redis')).toMatchObject({ sandbox });
  await warm.expectScored('redis', 2);
});
