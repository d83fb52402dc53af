import { existsSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { kubectl } from '../api.ts';
import type { Cluster } from '../api.ts';
import { startDaemon } from '../machine/daemon.ts';
import { inNamespace } from '../machine/namespace.ts';
import { fakePodRange, hubAddress } from '../plan.ts';
import { fakeNode, fakeNodeMark } from './fake-node.ts';
import { readStages, withColdStart } from './stages.ts';

/** Starts kwok and gives it the cluster's fake nodes. */
export async function startFakeNodes(cluster: Cluster): Promise<void> {
  const stages = await writeStages(cluster);
  startDaemon(cluster, { name: 'kwok', argv: inNamespace(cluster.hub, kwokArgv(cluster, stages)) });
  const items = Array.from({ length: cluster.fakeNodes }, (_, index) => fakeNode(index));
  await kubectl(cluster, ['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
}

const kwokArgv = (cluster: Cluster, stages: string): readonly string[] => [
  join(cluster.programs, 'kwok'),
  `--kubeconfig=${cluster.kubeconfig}`,
  '--manage-all-nodes=false',
  `--manage-nodes-with-annotation-selector=${fakeNodeMark.key}=${fakeNodeMark.value}`,
  `--cidr=${fakePodRange}`,
  `--node-ip=${hubAddress}`,
  '--node-lease-duration-seconds=40',
  '--server-address=127.0.0.1:10247',
  `--config=${stages}`,
];

async function writeStages(cluster: Cluster): Promise<string> {
  const file = join(cluster.folder, 'kwok-stages.yaml');
  await writeFile(file, withColdStart(await keptStages(cluster.programs)));
  return file;
}

/** Kept beside the programs, so that a machine which has those needs no module cache. */
async function keptStages(programs: string): Promise<string> {
  const file = join(programs, 'kwok-stages.yaml');
  if (!existsSync(file)) {
    const building = `${file}.${process.pid}`;
    await writeFile(building, await readStages());
    await rename(building, file);
  }
  return readFile(file, 'utf8');
}
