import { mkdtempSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type RunningFleet, startFleet, startFleetOnCluster } from '#cli/fleet/start-fleet.ts';
import type { Cluster } from '#infra/cluster/api.ts';
import { openCluster } from '#infra/cluster/cluster-file.ts';
import { importImages, removeImage } from '#infra/cluster/images/import.ts';
import { addSpecialNode, type JoinedNode } from '#infra/cluster/special-node.ts';
import { buildImage } from '#infra/images/build.ts';
import type { NodePlan } from '#infra/cluster/plan.ts';
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

/**
 * Pods of a cluster of `infra/cluster`, over images of one layer that are made of the roots. They are on a node of their own, whose runtime
 * gives pods user ids of their own: only then root has a container's rights.
 */
export async function startInPods(name: string): Promise<Engine> {
  const cluster = await openCluster(name);
  const { archive } = await buildImage('sandboxd');
  const wish = { taint, diskBytes: null, hasNewRunc: true, images: [archive] };
  const joined = await addSpecialNode(cluster, wish);
  try {
    return await startOnNode(cluster, joined);
  } catch (error) {
    await joined[Symbol.asyncDispose]();
    throw error;
  }
}

async function startOnNode(cluster: Cluster, joined: JoinedNode): Promise<Engine> {
  const { root, environmentsDir, stateDir } = await fleetFolders({
    strangers: strangersEnvironment(`${repository}*`),
  });
  const namespace = `strangers-${process.pid}`;
  await openNamespace(cluster, namespace);
  const file = join(root, 'cluster.yaml');
  const policyFile = join(root, 'policy.yaml');
  await writeFile(file, clusterYaml(namespace, joined.node));
  await writeFile(policyFile, policyYaml);
  const options = { environmentsDir, stateDir, policyFile, payloadDir: sharedPayload };
  const fleet = await startFleetOnCluster(options, { file, kubeconfig: cluster.kubeconfig });
  const images = new ImageOfTask(cluster, joined.node);
  return {
    fleet,
    imageOf: (from, task) => images.bring(from, task),
    stop: async () => {
      await fleet.stop();
      await removeNamespace(cluster, namespace);
      await joined[Symbol.asyncDispose]();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** The image of one task at a time: a root is a gigabyte, and a node keeps it packed and unpacked. */
class ImageOfTask {
  readonly #cluster: Cluster;
  readonly #node: NodePlan;
  #task: string | null = null;

  constructor(cluster: Cluster, node: NodePlan) {
    this.#cluster = cluster;
    this.#node = node;
  }

  async bring(root: string, task: string): Promise<string> {
    if (this.#task === task) return imageName(task);
    if (this.#task !== null) await removeImage(this.#cluster, this.#node, imageName(this.#task));
    this.#task = null;
    await inFolder(async (work) => {
      await importImages(this.#cluster, this.#node, [await archiveOf(root, task, work)]);
    });
    this.#task = task;
    return imageName(task);
  }
}

const taint = 'example.com/strangers';

const clusterYaml = (namespace: string, { name }: NodePlan) => `
namespace: ${namespace}
sandboxd: { init_container: "${imageNames.sandboxd}" }
host_users: require
placement:
  node_selector: { kubernetes.io/hostname: ${name} }
  tolerations: [{ key: ${taint} }]
`;

/** On a cluster a task gets more than its environment has only up to a ceiling. This machine is the ceiling of its own sandboxes. */
const policyYaml = 'ceilings: { cpu: 4, memory: 8Gi, disk: 20Gi }\n';

async function inFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync('/var/tmp/corral-strangers-image-');
  try {
    await use(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
