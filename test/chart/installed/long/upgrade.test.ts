import { afterAll, beforeAll, expect, test } from 'vitest';
import { importImages } from '../../../../infra/cluster/images/import.ts';
import { buildPreviousImages } from '../../../../infra/images/previous.ts';
import { clusterOfTest } from '../../../support/cluster.ts';
import { underLoad } from '../../../support/load.ts';
import { countingEnvironment, installRelease } from '../../../support/release.ts';
import type { Release } from '../../../support/release.ts';

const version = (tag: string) => ({
  image: { tag },
  sandboxd: { delivery: 'initContainer', image: { registry: 'corral.local', repository: 'sandboxd', tag } },
});

/** sandboxd comes from its own image, so that sandboxes of both versions serve beside each other. */
const sandbox = { ...countingEnvironment.sandbox, image: 'corral.local/busybox:1' };
const counting = { ...countingEnvironment, sandbox };

let corral: Release;
beforeAll(async () => {
  const cluster = await clusterOfTest();
  const { corral: services, sandboxd } = await buildPreviousImages();
  for (const node of cluster.nodes) await importImages(node, [services.archive, sandboxd.archive]);
  corral = await installRelease('upgrade', {
    ...version('previous'),
    environments: { inline: { counting } },
  });
});
afterAll(() => corral.remove());

const gatewayImages = () =>
  corral.kubectl([
    'get',
    'pods',
    '--selector=app.kubernetes.io/component=gateway',
    '--field-selector=status.phase=Running',
    '--output=jsonpath={.items[*].spec.containers[0].image}',
  ]);

test('upgraded from the version before and rolled back under load: every rollout is scored, every answer is 200', async () => {
  await underLoad(corral, 240, async () => {
    await corral.upgrade(version('dev'));
    await expect.poll(gatewayImages).toMatch(/^(corral\.local\/corral:dev ?)+$/);
    await corral.helm(['rollback', '--wait', '--timeout=100s']);
    await expect.poll(gatewayImages).toMatch(/^(corral\.local\/corral:previous ?)+$/);
  });
});
