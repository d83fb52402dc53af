import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { importImages } from '#infra/cluster/images/import.ts';
import { buildPreviousImages, checkOut, previousCommit } from '#infra/images/previous.ts';
import { repository } from '#infra/payload/repository.ts';
import { clusterOfTest } from '#test/support/cluster.ts';
import { underLoad } from '#test/support/load.ts';
import { countingEnvironment, installRelease, type Release } from '#test/support/release.ts';
import { publishedChart, startRegistryForNodes } from '../support/cluster-registry.ts';
import type { Registry } from '../support/registries.ts';
import { release } from '../support/release.ts';

const tag = 'previous';
const previous = {
  image: { tag },
  sandboxd: { delivery: 'initContainer', image: { registry: 'corral.local', repository: 'sandboxd', tag } },
};
/** Without values for the fleet's own images, both come from the registry of the chart. */
const published = { image: null, sandboxd: null, clusterConfig: null };

/** sandboxd comes from its own image, so that sandboxes of both versions serve next to each other. */
const sandbox = { ...countingEnvironment.sandbox, image: 'corral.local/busybox:1' };
const counting = { ...countingEnvironment, sandbox };

let images: Registry;
let corral: Release;
let before = '';
beforeAll(async () => {
  images = await startRegistryForNodes();
  const cluster = await clusterOfTest();
  const { corral: services, sandboxd } = await buildPreviousImages();
  for (const node of cluster.nodes) await importImages(cluster, node, [services.archive, sandboxd.archive]);
  before = await mkdtemp(join(tmpdir(), 'corral-chart-before-'));
  await checkOut(repository, await previousCommit(), before);
  const values = { ...previous, environments: { inline: { counting } } };
  corral = await installRelease('upgrade', values, [join(before, 'charts/corral')]);
});
afterAll(async () => {
  await corral.remove();
  await images.stop();
  await rm(before, { recursive: true, force: true });
});

const gatewayImages = () =>
  corral.kubectl([
    'get',
    'pods',
    '--selector=app.kubernetes.io/component=gateway',
    '--field-selector=status.phase=Running',
    '--output=jsonpath={.items[*].spec.containers[0].image}',
  ]);

test('an upgrade from the version before to the published chart under load loses nothing: every rollout is scored', async () => {
  const image = `${release().registry}/corral:${release().version}`;
  await underLoad(corral, async () => {
    const startedMs = performance.now();
    await corral.upgrade(published, [], publishedChart());
    await expect
      .poll(async () => new Set((await gatewayImages()).trim().split(' ')))
      .toEqual(new Set([image]));
    const tookS = (performance.now() - startedMs) / 1000;
    process.stdout.write(
      `helm upgrade: the last gateway of the version before left after ${tookS.toFixed(0)} s\n`,
    );
  });
});
