import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { CommandError } from '#cli/command-error.ts';
import { type Cluster, untilApiAnswers, untilNodesAreReady, untilPodsAreAccepted } from './api.ts';
import { ensurePrograms, type Told } from './binaries/cache.ts';
import { clusterPrograms, kwok } from './binaries/programs.ts';
import { makeCertificates } from './certificates.ts';
import { writeCluster } from './cluster-file.ts';
import { startApi, startControllers } from './control-plane/start.ts';
import { takeDown } from './down.ts';
import { unlessInterrupted } from './interruption.ts';
import { makeBuiltInImages } from './images/built-in.ts';
import { importImages } from './images/import.ts';
import { addKinds } from './kinds.ts';
import { joinNode, makeHub } from './network.ts';
import { startContainerd, startKubelet, writeNodeFiles } from './node/start.ts';
import { startFakeNodes } from './kwok/start.ts';
import { type ClusterPlan, type ClusterWish, planCluster } from './plan.ts';
import { startServices, untilServicesWork } from './services/start.ts';

export type Start = ClusterWish & {
  /** Archives of images to give to every node, beside the built-in ones. */
  readonly images: readonly string[];
};

/**
 * Builds what is missing, starts a cluster and waits until every node is Ready, pods are accepted and Services work: about
 * 10 s when all is built. What was started of one that does not come up, or is interrupted, is taken down again. Throws a
 * CommandError when the name is taken, and the signal's reason when it aborts.
 */
export async function startCluster(
  { images, ...wish }: Start,
  told: Told,
  interrupted?: AbortSignal,
): Promise<Cluster> {
  requireRoot();
  const plan = planCluster(wish);
  // Asked before minutes of building too.
  if (existsSync(plan.folder)) throw nameTaken(plan);
  const wanted = wish.fakeNodes > 0 ? [...clusterPrograms, kwok] : clusterPrograms;
  const programs = await unlessInterrupted(ensurePrograms(wanted, told), interrupted);
  await takeName(plan);
  const cluster: Cluster = { ...plan, programs };
  try {
    await writeCluster(cluster);
    await unlessInterrupted(startAll(cluster, images, told), interrupted);
    return cluster;
  } catch (error) {
    await takeDown(wish.name);
    throw error;
  }
}

export function requireRoot(): void {
  if (process.getuid?.() === 0) return;
  throw new CommandError(
    'a cluster has network namespaces, control groups and containers, which only root may make',
    'yours',
    'run it with sudo',
  );
}

/** The folder is the lock: only one can make it. */
async function takeName(plan: ClusterPlan): Promise<void> {
  try {
    await mkdir(plan.folder);
  } catch (cause) {
    throw nameTaken(plan, cause);
  }
}

const nameTaken = ({ name, folder }: ClusterPlan, cause?: unknown): CommandError =>
  new CommandError(
    `a cluster "${name}" is up, or was not taken down (${folder})`,
    'yours',
    `use it, take it down (npm run cluster -- down --name ${name}), or choose another --name`,
    cause,
  );

async function startAll(cluster: Cluster, images: readonly string[], told: Told): Promise<void> {
  told('certificates and network');
  await Promise.all([makeCertificates(cluster), makeHub(cluster)]);
  told('control plane and nodes');
  startApi(cluster);
  // Images are imported while the API server starts; a kubelet without an API server would only complain.
  await Promise.all([startControlPlane(cluster), prepareNodes(cluster, images)]);
  for (const node of cluster.nodes) await startKubelet(cluster, node, cluster.programs);
  await startServices(cluster);
  if (cluster.fakeNodes > 0) await startFakeNodes(cluster);
  await Promise.all([untilNodesAreReady(cluster), untilPodsAreAccepted(cluster), untilServicesWork(cluster)]);
}

async function startControlPlane(cluster: Cluster): Promise<void> {
  await untilApiAnswers(cluster);
  startControllers(cluster);
  await addKinds(cluster);
}

async function prepareNodes(cluster: Cluster, images: readonly string[]): Promise<void> {
  if (cluster.nodes.length === 0) return;
  const archives = [...(await makeBuiltInImages(`${cluster.folder}/images`)), ...images];
  // One after the other: the hub's bridge and its routes are changed for each.
  for (const node of cluster.nodes) await joinNode(cluster, node);
  await Promise.all(
    cluster.nodes.map(async (node) => {
      await writeNodeFiles(cluster, node, cluster.programs);
      await startContainerd(cluster, node, cluster.programs);
      await importImages(cluster, node, archives);
    }),
  );
}
