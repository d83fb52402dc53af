import { afterAll, beforeAll, expect, test } from 'vitest';
import { underLoad } from '#test/support/load.ts';
import { type InstalledBefore, installVersionBefore } from '#test/support/upgrade.ts';
import { publishedChart, startRegistryForNodes } from '../support/cluster-registry.ts';
import type { Registry } from '../support/registries.ts';
import { release } from '../support/release.ts';

/** Without values for the fleet's own images, both come from the registry of the chart. */
const published = { image: null, sandboxd: null, clusterConfig: null };

let images: Registry;
let installed: InstalledBefore;
beforeAll(async () => {
  images = await startRegistryForNodes();
  installed = await installVersionBefore();
});
afterAll(async () => {
  await installed.remove();
  await images.stop();
});

test('an upgrade from the previous version to the published chart under load loses nothing: every rollout is scored', async () => {
  const { corral, gatewayImages } = installed;
  const image = `${release().registry}/corral:${release().version}`;
  await underLoad(corral, async () => {
    const startedMs = performance.now();
    await corral.upgrade(published, [], publishedChart());
    await expect.poll(gatewayImages).toEqual(new Set([image]));
    const tookS = (performance.now() - startedMs) / 1000;
    process.stdout.write(
      `helm upgrade: the last gateway of the previous version left after ${tookS.toFixed(0)} s\n`,
    );
  });
});
