import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { nodesOf, untilNodesAreReady } from '#infra/cluster/api.ts';
import {
  cordonNode,
  cutNode,
  drainNode,
  freezeKubelet,
  joinNodeAgain,
  killKubelet,
  startKubelet,
  thawKubelet,
  uncordonNode,
} from '#infra/cluster/levers.ts';
import {
  type ClusterFleetOfTest,
  podEnvironment,
  podResources,
  startClusterFleetOfTest,
} from '#test/support/cluster-fleet.ts';
import { eventually } from '#test/support/eventually.ts';
import { ran, rolloutsOf } from '#test/support/pod-rollouts.ts';

const onNode = (node: string) =>
  podEnvironment(node, {
    sandbox: `image: "corral.local/bare:dev", ${podResources}, node_selector: { kubernetes.io/hostname: ${node} }`,
    pool: '{ min_ready: 1, max: 8 }',
  });

let corral: ClusterFleetOfTest;
beforeAll(async () => {
  corral = await startClusterFleetOfTest({
    name: 'nodes',
    environments: { n1: onNode('n1'), n2: onNode('n2'), anywhere: podEnvironment('anywhere') },
  });
});
afterEach(() => untilNodesAreReady(corral.cluster));
afterAll(() => corral.stop());

const onN1 = rolloutsOf(() => corral, 'n1');
const onN2 = rolloutsOf(() => corral, 'n2');
const anywhere = rolloutsOf(() => corral, 'anywhere');

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
    // Only the silence of the node is known, and a pod can cause that.
    expect(await onN2.view('cut-idle')).toMatchObject({ verdict: { suspected: 'command' } });
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

test('a node is drained: its rollouts are lost with the drain, the others go on, and a new one is served there after it', async () => {
  const busy = await onN1.running('drained');
  expect(await onN2.call('undrained', 'c1')).toMatchObject(ran(1));
  await drainNode(corral.cluster, 'n1');
  try {
    await onN1.expectLostInFlight(busy, 'node_drained');
    await onN2.expectScored('undrained', 1);
  } finally {
    await uncordonNode(corral.cluster, 'n1');
  }
  expect(await onN1.call('after-drain', 'c1')).toMatchObject(ran(1));
});

test('a node is cordoned: what is free there is replaced elsewhere, and a rollout on it goes on and is scored', async () => {
  expect(await onN1.call('cordoned', 'c1')).toMatchObject(ran(1));
  for (const [left, other] of [
    ['n2', 'n1'],
    ['n1', 'n2'],
  ] as const) {
    await cordonNode(corral.cluster, left);
    try {
      // All of them: at least one round finds free ones on the node that is left.
      await expect.poll(nodesOfFree).toEqual([other, other]);
    } finally {
      if (left === 'n2') await uncordonNode(corral.cluster, left);
    }
  }
  try {
    expect(await onN1.call('cordoned', 'c2')).toMatchObject(ran(2));
    expect(await anywhere.call('elsewhere', 'c1')).toMatchObject(ran(1));
    expect(await corral.podOf('elsewhere')).toMatchObject({ node: 'n2' });
    await onN1.expectScored('cordoned', 2);
  } finally {
    await uncordonNode(corral.cluster, 'n1');
  }
});

/** Where the free, ready sandboxes of `anywhere` are. */
async function nodesOfFree(): Promise<readonly string[]> {
  const selector = '--selector=corral.dev/claimed!=true';
  const { items } = JSON.parse(await corral.kubectl(['get', 'pods', selector, '--output=json'])) as {
    items: readonly {
      metadata: { deletionTimestamp?: string };
      spec: { nodeName?: string; nodeSelector?: object };
      status: { phase: string };
    }[];
  };
  const free = items.filter(
    ({ metadata, spec, status }) =>
      spec.nodeSelector === undefined &&
      metadata.deletionTimestamp === undefined &&
      status.phase === 'Running',
  );
  return free.map(({ spec }) => spec.nodeName ?? 'nowhere');
}
