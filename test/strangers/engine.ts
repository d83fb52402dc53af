import { mkdtempSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type RunningFleet, startFleet, startFleetOnCluster } from '#cli/fleet/start-fleet.ts';
import { openCluster } from '#infra/cluster/cluster-file.ts';
import { importImages } from '#infra/cluster/images/import.ts';
import { buildImage } from '#infra/images/build.ts';
import { imageNames } from '#infra/images/catalogue.ts';
import { openNamespace, removeNamespace } from '../support/cluster-namespace.ts';
import { fleetFolders, sharedPayload } from '../support/fleet-folders.ts';
import { strangersEnvironment } from './environment.ts';
import { archiveOf, imageName, repository } from './root-image.ts';

/** What runs the sandboxes. */
export type Engine = {
  readonly fleet: RunningFleet;
  /** Names a task's root as the environment lets it in; on a cluster it is brought to the nodes first. */
  readonly imageOf: (root: string, task: string) => Promise<string>;
  readonly stop: () => Promise<void>;
};

/** Sandboxes of this machine, over the roots themselves. */
export async function startHere(roots: string): Promise<Engine> {
  const environments = { strangers: strangersEnvironment(`rootfs:${roots}/*`) };
  const { root, environmentsDir, stateDir } = await fleetFolders(environments);
  const fleet = await startFleet({ environmentsDir, stateDir, payloadDir: sharedPayload });
  return {
    fleet,
    imageOf: async (each) => `rootfs:${each}`,
    stop: async () => {
      await fleet.stop();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** Pods of a cluster of `infra/cluster`, over images of one layer that are made of the roots. */
export async function startInPods(name: string): Promise<Engine> {
  const cluster = await openCluster(name);
  const namespace = `strangers-${process.pid}`;
  const bring = async (archive: string) => {
    for (const node of cluster.nodes) await importImages(cluster, node, [archive]);
  };
  await bring((await buildImage('sandboxd')).archive);
  const environments = { strangers: strangersEnvironment(`${repository}*`) };
  const { root, environmentsDir, stateDir } = await fleetFolders(environments);
  await openNamespace(cluster, namespace);
  const file = join(root, 'cluster.yaml');
  await writeFile(file, clusterYaml(namespace));
  const options = { environmentsDir, stateDir, payloadDir: sharedPayload };
  const fleet = await startFleetOnCluster(options, { file, kubeconfig: cluster.kubeconfig });
  const brought = new Set<string>();
  return {
    fleet,
    imageOf: async (from, task) => {
      if (!brought.has(task)) await inFolder((work) => archiveOf(from, task, work).then(bring));
      brought.add(task);
      return imageName(task);
    },
    stop: async () => {
      await fleet.stop();
      await removeNamespace(cluster, namespace);
      rmSync(root, { recursive: true, force: true });
    },
  };
}

const clusterYaml = (namespace: string) =>
  `{ namespace: ${namespace}, sandboxd: { init_container: "${imageNames.sandboxd}" }, image_pull_policy: IfNotPresent }`;

async function inFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync('/var/tmp/corral-strangers-image-');
  try {
    await use(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
