import { mkdir, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Cluster, kubectl } from './api.ts';
import { makeNodeCertificate } from './certificates.ts';
import { makeBuiltInImages } from './images/built-in.ts';
import { importImages } from './images/import.ts';
import { largestCluster, mountsBelow } from './left-behind.ts';
import { removeControlGroup } from './machine/control-groups.ts';
import { stopDaemon } from './machine/daemon.ts';
import { run } from './machine/run.ts';
import { joinNode, removeNamespace } from './network.ts';
import type { SpecialNode } from './node/kubelet-config.ts';
import { containerdOf, kubeletOf, startContainerd, startKubelet, writeNodeFiles } from './node/start.ts';
import type { NodePlan } from './plan.ts';

/** What is wanted of a node that a test adds to a running cluster. */
export type SpecialWish = Pick<SpecialNode, 'taint' | 'hasNewRunc'> & {
  /** Of its own disk, a file that is mounted as ext4; null: it shares the machine's. */
  readonly diskBytes: number | null;
  /** Archives of images to give to it, in addition to the built-in ones. */
  readonly images: readonly string[];
};

export type JoinedNode = AsyncDisposable & { readonly node: NodePlan };

/**
 * Adds a node that is not like the others, and resolves when it is Ready. It has the last number that a cluster may have, so there is
 * one at a time, and taking the cluster down finds it.
 */
export async function addSpecialNode(cluster: Cluster, wish: SpecialWish): Promise<JoinedNode> {
  const node = largestCluster(cluster.name).nodes.at(-1);
  if (node === undefined) throw new Error('a cluster has room for a node');
  const remove = () => removeNode(cluster, node);
  try {
    await start(cluster, node, wish);
    return { node, [Symbol.asyncDispose]: remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function start(cluster: Cluster, node: NodePlan, wish: SpecialWish) {
  const { taint, diskBytes, hasNewRunc, images } = wish;
  await mkdir(node.folder);
  if (diskBytes !== null) await mountDisk(node, diskBytes);
  await Promise.all([makeNodeCertificate(cluster, node), joinNode(cluster, node)]);
  await writeNodeFiles(cluster, node, cluster.programs, {
    taint,
    hasOwnDisk: diskBytes !== null,
    hasNewRunc,
  });
  await startContainerd(cluster, node, cluster.programs);
  const builtIn = await makeBuiltInImages(join(cluster.folder, 'images'));
  await importImages(cluster, node, [...builtIn, ...images]);
  await startKubelet(cluster, node, cluster.programs);
  await kubectl(cluster, ['wait', '--for=create', `node/${node.name}`, '--timeout=60s']);
  await kubectl(cluster, ['wait', '--for=condition=Ready', `node/${node.name}`, '--timeout=60s']);
}

const diskOf = ({ folder }: NodePlan): string => `${folder}.ext4`;

async function mountDisk(node: NodePlan, bytes: number): Promise<void> {
  await writeFile(diskOf(node), '');
  await truncate(diskOf(node), bytes);
  // Few inodes, so that a test can use them up.
  await run(['mkfs.ext4', '-q', '-i', '65536', diskOf(node)]);
  await run(['mount', '-o', 'loop', diskOf(node), node.folder]);
}

async function removeNode(cluster: Cluster, node: NodePlan): Promise<void> {
  await stopDaemon(cluster.pids, kubeletOf(node));
  await stopDaemon(cluster.pids, containerdOf(node));
  await removeControlGroup(node.controlGroup);
  for (const mount of await mountsBelow(node.folder)) await run(['umount', '--lazy', mount]);
  await run(['umount', '--lazy', node.folder]).catch(() => undefined);
  await removeNamespace(node.namespace);
  await kubectl(cluster, ['delete', 'node', node.name, '--ignore-not-found']);
  await Promise.all([node.folder, diskOf(node)].map((path) => rm(path, { recursive: true, force: true })));
}
