import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { nodesOf, untilNodesAreReady } from '../../../../infra/cluster/api.ts';
import {
  cutNode,
  drainNode,
  freezeKubelet,
  joinNodeAgain,
  killKubelet,
  startKubelet,
  thawKubelet,
  uncordonNode,
} from '../../../../infra/cluster/levers.ts';
import { podEnvironment, podResources, startClusterFleetOfTest } from '../../../support/cluster-fleet.ts';
import type { ClusterFleetOfTest } from '../../../support/cluster-fleet.ts';
import { eventually } from '../../../support/eventually.ts';
import { ran, rolloutsOf } from '../../../support/pod-rollouts.ts';

const onNode = (node: string) =>
  podEnvironment(node, {
    sandbox: `image: "corral.local/bare:dev", ${podResources}, node_selector: { kubernetes.io/hostname: ${node} }`,
    pool: '{ min_ready: 1, max: 8 }',
  });

let corral: ClusterFleetOfTest;
beforeAll(async () => {
  corral = await startClusterFleetOfTest({
    name: 'nodes',
    environments: { n1: onNode('n1'), n2: onNode('n2') },
  });
});
afterEach(() => untilNodesAreReady(corral.cluster));
afterAll(() => corral.stop());

const onN1 = rolloutsOf(() => corral, 'n1');
const onN2 = rolloutsOf(() => corral, 'n2');

const untilGivenUp = (node: string) =>
  eventually(
    async () => (await nodesOf(corral.cluster)).filter(({ name }) => name === node),
    [{ ready: 'Unknown' }],
  );

/** The cluster gives the node up after 10 s; then 10 s of silence, and whatever a busy machine adds. */
const noticedMs = 40_000;

test('a node is cut off: within seconds its rollouts are lost, the others go on; joined again, it serves new ones', async () => {
  const busy = await onN2.running('cut-busy');
  expect(await onN2.call('cut-idle', 'c1')).toMatchObject(ran(1));
  expect(await onN1.call('cut-other', 'c1')).toMatchObject(ran(1));
  const cutAtMs = performance.now();
  await cutNode(corral.cluster, 'n2');
  try {
    await onN2.expectLostInFlight(busy, 'node_lost');
    expect(performance.now() - cutAtMs).toBeLessThan(noticedMs);
    await onN2.expectLost('cut-idle', 'node_lost');
    expect(await onN1.call('cut-other', 'c2')).toMatchObject(ran(2));
    await onN1.expectScored('cut-other', 2);
  } finally {
    await joinNodeAgain(corral.cluster, 'n2');
  }
  expect(await onN2.call('cut-after', 'c1')).toMatchObject(ran(1));
  await onN2.expectScored('cut-after', 1);
});

test('a kubelet stands still while its pods answer: the node is given up, and its rollouts are not lost but scored', async () => {
  const busy = await onN1.running('frozen', 'echo ran >> log; sleep 20; cat log');
  freezeKubelet(corral.cluster, 'n1');
  try {
    await untilGivenUp('n1');
    expect(await busy.answer).toMatchObject(ran(1));
    expect(await onN1.call('frozen', 'c2')).toMatchObject(ran(2));
    await onN1.expectScored('frozen', 2);
  } finally {
    thawKubelet(corral.cluster, 'n1');
  }
});

test('a kubelet is killed: rollouts on its node go on, until the cluster takes their pods away', async () => {
  const busy = await onN2.running('headless', 'echo ran >> log; sleep 20; cat log');
  const late = await onN2.running('headless-late', 'echo ran >> log; sleep 55; cat log');
  await killKubelet(corral.cluster, 'n2');
  try {
    await untilGivenUp('n2');
    expect(await busy.answer).toMatchObject(ran(1));
    await onN2.expectScored('headless', 1);
    const marked = () =>
      corral.kubectl(['get', 'pod', late.sandbox, '--output=jsonpath={.metadata.deletionTimestamp}']);
    await expect.poll(marked).not.toBe('');
    expect(await onN2.view('headless-late')).toMatchObject({ taint: null });
  } finally {
    await startKubelet(corral.cluster, 'n2');
  }
  // The node is back when the pod goes; that it had been silent is why.
  await onN2.expectLostInFlight(late, 'node_lost');
});

test('a node is drained: its rollouts are lost as evicted, the others go on, and a new one is served there after it', async () => {
  const busy = await onN1.running('drained');
  expect(await onN2.call('undrained', 'c1')).toMatchObject(ran(1));
  await drainNode(corral.cluster, 'n1');
  try {
    await onN1.expectLostInFlight(busy, 'evicted');
    await onN2.expectScored('undrained', 1);
  } finally {
    await uncordonNode(corral.cluster, 'n1');
  }
  expect(await onN1.call('after-drain', 'c1')).toMatchObject(ran(1));
});
