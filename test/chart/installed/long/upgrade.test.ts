import { afterAll, beforeAll, expect, test } from 'vitest';
import { underLoad } from '#test/support/load.ts';
import { imagesOf, type InstalledBefore, installVersionBefore } from '#test/support/upgrade.ts';

/** In a cluster of somebody's own the images are made here, and npm may have to fetch other packages for them first. */
const madeWithinMs = 900_000;

let installed: InstalledBefore;
beforeAll(async () => {
  installed = await installVersionBefore();
}, madeWithinMs);
afterAll(() => installed.remove());

/** Where one machine of two processors plays the cluster, the upgrade takes 160 s under this load, and the rollback 90 to 120 s. */
const endsWithinMs = 780_000;

test(
  'upgraded from the previous version and rolled back under load: every rollout is scored, every answer is 200',
  { timeout: endsWithinMs },
  async () => {
    const { corral, gatewayImages } = installed;
    await underLoad(corral, async () => {
      await corral.upgrade(imagesOf('dev'));
      await expect.poll(gatewayImages).toEqual(new Set(['corral.local/corral:dev']));
      await corral.helm(['rollback', '--wait', '--timeout=300s']);
      await expect.poll(gatewayImages).toEqual(new Set(['corral.local/corral:previous']));
    });
  },
);
