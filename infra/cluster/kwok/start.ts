import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Cluster, kubectl } from '../api.ts';
import { keptText } from '../binaries/cache.ts';
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
  const stages = await keptText(cluster.programs, 'kwok-stages.yaml', readStages);
  await writeFile(file, withColdStart(stages));
  return file;
}
