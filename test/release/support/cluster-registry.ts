import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { importImages } from '#infra/cluster/images/import.ts';
import { run } from '#infra/cluster/machine/run.ts';
import type { NodePlan } from '#infra/cluster/plan.ts';
import { buildImage } from '#infra/images/build.ts';
import { clusterOfTest } from '#test/support/cluster.ts';
import { type Registry, startImageRegistry } from './registries.ts';
import { release } from './release.ts';

/** The hub, in which these tests run. Nodes reach nothing else. */
const listen = '10.250.0.1:5055';

/** What Helm takes to install or upgrade to the published chart. */
export function publishedChart(): readonly string[] {
  const { registry, version } = release();
  const [, ...path] = registry.split('/');
  return [`oci://${[listen, ...path].join('/')}/charts/corral`, `--version=${version}`, '--plain-http'];
}

/** What this cluster does not have: a load balancer, storage, and a network that enforces policies. All else is the chart's own. */
export const neededValues = {
  gateway: { service: { type: 'NodePort' } },
  redis: { bundled: { persistence: { enabled: false } } },
  preflight: { egress: false },
};

/** Starts the registry with the published images and chart where nodes reach it, and gives nodes the two images of Docker Hub. */
export async function startRegistryForNodes(): Promise<Registry> {
  const started = await startImageRegistry(release().storage, listen);
  const { nodes, programs } = await clusterOfTest();
  for (const node of nodes) {
    await useInPlaceOfPublished(node.folder);
    await giveDockerHub(programs, node);
  }
  return started;
}

/** A mirror: the registry that the release was published to is on this machine's loopback, which nodes do not reach. containerd reads this file at each pull. */
async function useInPlaceOfPublished(nodeFolder: string): Promise<void> {
  const [published = ''] = release().registry.split('/');
  const folder = join(nodeFolder, 'registries', published);
  await mkdir(folder, { recursive: true });
  const host = `server = "http://${listen}"\n[host."http://${listen}"]\n  capabilities = ["pull", "resolve"]\n`;
  await writeFile(join(folder, 'hosts.toml'), host);
}

/** Published name of an image that the chart or its example asks for, and the image of the tests in its place. */
const dockerHub = {
  'docker.io/library/redis:7.4-bookworm': 'corral.local/redis:dev',
  'docker.io/library/busybox:1.37.0': 'corral.local/busybox:1',
};

async function giveDockerHub(programs: string, node: NodePlan): Promise<void> {
  await importImages({ programs }, node, [(await buildImage('redis')).archive]);
  const ctr = [
    join(programs, 'ctr'),
    '-a',
    node.containerdSocket,
    '-n',
    'k8s.io',
    'images',
    'tag',
    '--force',
  ];
  for (const [name, own] of Object.entries(dockerHub)) await run([...ctr, own, name]);
}
