import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { importImages } from '#infra/cluster/images/import.ts';
import { buildPreviousImages, checkOut, previousCommit } from '#infra/images/previous.ts';
import { repository } from '#infra/payload/repository.ts';
import { clusterOfTest } from './cluster.ts';
import { countingEnvironment, installRelease, type Release } from './release.ts';

/** Values of the chart for the images of one version, as they are imported into the nodes. */
export const imagesOf = (tag: string) => ({
  image: { tag },
  sandboxd: { delivery: 'initContainer', image: { registry: 'corral.local', repository: 'sandboxd', tag } },
});

/** sandboxd comes from its own image, so that sandboxes of both versions serve next to each other. */
const sandbox = { ...countingEnvironment.sandbox, image: 'corral.local/busybox:1' };
const counting = { ...countingEnvironment, sandbox };

export type InstalledBefore = {
  readonly corral: Release;
  /** The images of all gateways that run, each once. */
  readonly gatewayImages: () => Promise<ReadonlySet<string>>;
  readonly remove: () => Promise<void>;
};

/** Installs the previous version, as its commit has it: its chart, with its images and one environment. */
export async function installVersionBefore(): Promise<InstalledBefore> {
  const cluster = await clusterOfTest();
  const { corral: services, sandboxd } = await buildPreviousImages();
  for (const node of cluster.nodes) await importImages(cluster, node, [services.archive, sandboxd.archive]);
  const before = await mkdtemp(join(tmpdir(), 'corral-chart-before-'));
  await checkOut(repository, await previousCommit(), before);
  const values = { ...imagesOf('previous'), environments: { inline: { counting } } };
  const corral = await installRelease('upgrade', values, [join(before, 'charts/corral')]);
  return {
    corral,
    gatewayImages: async () => new Set((await corral.kubectl(imagesOfGateways)).trim().split(' ')),
    remove: async () => {
      await corral.remove();
      await rm(before, { recursive: true, force: true });
    },
  };
}

const imagesOfGateways = [
  'get',
  'pods',
  '--selector=app.kubernetes.io/component=gateway',
  '--field-selector=status.phase=Running',
  '--output=jsonpath={.items[*].spec.containers[0].image}',
];
