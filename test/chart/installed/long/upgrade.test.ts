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

const version = (tag: string) => ({
  image: { tag },
  sandboxd: { delivery: 'initContainer', image: { registry: 'corral.local', repository: 'sandboxd', tag } },
});

/** sandboxd comes from its own image, so that sandboxes of both versions serve beside each other. */
const sandbox = { ...countingEnvironment.sandbox, image: 'corral.local/busybox:1' };
const counting = { ...countingEnvironment, sandbox };

/** In a cluster of somebody's own the images are made here, and npm may have to fetch other packages for them first. */
const madeWithinMs = 900_000;

let corral: Release;
/** The version before, as its commit has it: its chart is installed, with its images. */
let before = '';
beforeAll(async () => {
  const cluster = await clusterOfTest();
  const { corral: services, sandboxd } = await buildPreviousImages();
  for (const node of cluster.nodes) await importImages(cluster, node, [services.archive, sandboxd.archive]);
  before = await mkdtemp(join(tmpdir(), 'corral-chart-before-'));
  await checkOut(repository, await previousCommit(), before);
  const values = { ...version('previous'), environments: { inline: { counting } } };
  corral = await installRelease('upgrade', values, [join(before, 'charts/corral')]);
}, madeWithinMs);
afterAll(async () => {
  await corral.remove();
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

/** Where one machine of two processors plays the cluster, the upgrade takes 160 s under this load, and the rollback 90 to 120 s. */
const endsWithinMs = 780_000;

test(
  'upgraded from the version before and rolled back under load: every rollout is scored, every answer is 200',
  { timeout: endsWithinMs },
  async () => {
    await underLoad(corral, async () => {
      await corral.upgrade(version('dev'));
      await expect.poll(gatewayImages).toMatch(/^(corral\.local\/corral:dev ?)+$/);
      await corral.helm(['rollback', '--wait', '--timeout=300s']);
      await expect.poll(gatewayImages).toMatch(/^(corral\.local\/corral:previous ?)+$/);
    });
  },
);
