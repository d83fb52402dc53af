import { readFile } from 'node:fs/promises';
import { type Cluster, nodesOf, type NodeState } from './api.ts';
import { livingDaemon, recordedDaemons } from './machine/daemon.ts';

/** One screen: every program with its memory, every node with the cluster's word for it, and how to use it. */
export async function statusOf(cluster: Cluster): Promise<string> {
  const parts = await Promise.all(
    recordedDaemons(cluster.pids).map(async (name) => ({ name, memoryMiB: await memoryOf(cluster, name) })),
  );
  const nodes = await nodesOf(cluster).catch(() => null);
  return [
    `cluster ${cluster.name} in ${cluster.folder} (logs in ${cluster.logs})`,
    ...parts.map(describePart),
    ...describeNodes(nodes),
    '',
    ...howToUse(cluster),
  ].join('\n');
}

export const howToUse = ({ name, hub, kubeconfig, nodes }: Cluster): readonly string[] => [
  `run a command in it:  npm run cluster -- run --name ${name} -- kubectl get pods -A   (helm is there too)`,
  `or by hand, as root:  KUBECONFIG=${kubeconfig} nsenter --net=/run/netns/${hub} COMMAND`,
  ...nodes.slice(0, 1).map(({ address }) => `a Service's NodePort: ${address}:PORT, from inside`),
  `take it down:         npm run cluster -- down --name ${name}`,
];

type Part = { readonly name: string; readonly memoryMiB: number | null };

const describePart = ({ name, memoryMiB }: Part): string =>
  `  ${name.padEnd(24)} ${memoryMiB === null ? 'has ended; see its log' : `${memoryMiB} MiB`}`;

function describeNodes(nodes: readonly NodeState[] | null): readonly string[] {
  if (nodes === null) return ['  the API server does not answer'];
  const fake = nodes.filter((node) => node.fake);
  const fakeReady = fake.filter((node) => node.ready === 'True').length;
  const real = nodes.filter((node) => !node.fake);
  return [
    ...real.map(
      ({ name, ready }) => `  node ${name.padEnd(19)} ${ready === 'True' ? 'Ready' : `Ready=${ready}`}`,
    ),
    ...(fake.length === 0 ? [] : [`  fake nodes               ${fakeReady} of ${fake.length} Ready`]),
  ];
}

/** Resident memory; null when the program has ended. */
async function memoryOf({ pids }: Cluster, name: string): Promise<number | null> {
  const identity = livingDaemon(pids, name);
  if (identity === null) return null;
  const status = await readFile(`/proc/${identity.pid}/status`, 'utf8').catch(() => '');
  return Math.round(Number(status.match(/^VmRSS:\s+(\d+)/m)?.[1] ?? 0) / 1024);
}
