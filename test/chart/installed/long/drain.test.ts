import { afterAll, beforeAll, expect, test } from 'vitest';
import { untilNodesAreReady } from '#infra/cluster/api.ts';
import { drainNode, uncordonNode } from '#infra/cluster/levers.ts';
import { underLoad } from '#test/support/load.ts';
import { installRelease, type Release } from '#test/support/release.ts';

const [stays, leaves] = ['n1', 'n2'];

let corral: Release;
beforeAll(async () => {
  // Without a volume that follows it, a Redis that moves is an emptied one, which another test has.
  const nodeSelector = { 'kubernetes.io/hostname': stays };
  corral = await installRelease('drain', { redis: { bundled: { nodeSelector } } });
});
afterAll(async () => {
  await uncordonNode(corral.cluster, leaves);
  await untilNodesAreReady(corral.cluster);
  await corral.remove();
});

const podsOn = async (node: string) => {
  const named = ['--output=name', `--field-selector=spec.nodeName=${node},status.phase=Running`];
  const inHome = await corral.kubectl(['get', 'pods', ...named]);
  const sandboxes = await corral.kubectl(['get', 'pods', '--namespace=drain-sandboxes', ...named]);
  return `${inHome}${sandboxes}`;
};

test('a node is drained under load: the drain waits for its rollouts, every one is scored, and nothing is left there', async () => {
  await underLoad(corral, async () => {
    await drainNode(corral.cluster, leaves);
    await expect.poll(() => podsOn(leaves)).toBe('');
  });
});
