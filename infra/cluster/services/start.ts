import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Cluster } from '../api.ts';
import { startDaemon, stopDaemon } from '../machine/daemon.ts';
import { inNamespace } from '../machine/namespace.ts';
import { run } from '../machine/run.ts';
import { until } from '../machine/until.ts';
import type { NodePlan } from '../plan.ts';
import { corefile, kubeProxyArgv, kubeProxyHealth, nameServerHealth } from './argv.ts';

/**
 * What makes Services work: a kube-proxy in each node's network, and one name server in the hub, where every pod reaches
 * it by the hub's own address. A cluster of fake nodes only has neither: no process would ask.
 */
const nameServer = 'coredns';
const kubeProxyOf = (node: NodePlan): string => `${node.name}-kube-proxy`;

export async function startServices(cluster: Cluster): Promise<void> {
  for (const node of cluster.nodes) startKubeProxy(cluster, node);
  if (cluster.nodes.length > 0) await startNameServer(cluster);
}

/** Existing connections go on meanwhile: the kernel remembers where each of them goes. */
export async function restartServices(cluster: Cluster): Promise<void> {
  const parts = [nameServer, ...cluster.nodes.map(kubeProxyOf)];
  await Promise.all(parts.map((part) => stopDaemon(cluster.pids, part)));
  await Promise.all(cluster.nodes.map(forgetRules));
  await startServices(cluster);
}

/**
 * A kube-proxy takes over what an earlier one has left in the kernel, also the chain of an endpoint that had just gone, emptied
 * and not yet deleted. It takes that for done when the endpoint is back, and nobody reaches it (seen with 1.34 after the API
 * server was started again, whose own Service refused every pod from then on).
 */
async function forgetRules({ namespace }: NodePlan): Promise<void> {
  const tables = ['table ip kube-proxy', 'table ip6 kube-proxy'];
  // Only what is there can be deleted.
  const words = tables.flatMap((table) => [`add ${table}`, `delete ${table}`]);
  await run(inNamespace(namespace, ['nft', words.join('; ')]));
}

/** A kube-proxy looks for its node every second until there is one, and answers when its rules are in the kernel. */
const timeoutMs = 60_000;

export async function untilServicesWork(cluster: Cluster): Promise<void> {
  if (cluster.nodes.length === 0) return;
  const asked = [
    untilAnswers(nameServer, cluster.hub, `http://${nameServerHealth}/ready`),
    ...cluster.nodes.map((node) =>
      untilAnswers(kubeProxyOf(node), node.namespace, `http://${kubeProxyHealth}/healthz`),
    ),
  ];
  await Promise.all(asked);
}

const untilAnswers = (part: string, namespace: string, url: string): Promise<void> =>
  until({ what: `the first answer of ${part}`, timeoutMs, everyMs: 200 }, () =>
    run(inNamespace(namespace, ['curl', '-sSf', '--max-time', '2', url])).then(() => true),
  );

function startKubeProxy(cluster: Cluster, node: NodePlan): void {
  const [program = '', ...flags] = kubeProxyArgv(cluster, node);
  const argv = inNamespace(node.namespace, [join(cluster.programs, program), ...flags]);
  startDaemon(cluster, { name: kubeProxyOf(node), argv });
}

async function startNameServer(cluster: Cluster): Promise<void> {
  const file = join(cluster.folder, 'Corefile');
  await writeFile(file, corefile(cluster));
  const argv = [join(cluster.programs, nameServer), '-conf', file];
  startDaemon(cluster, { name: nameServer, argv: inNamespace(cluster.hub, argv) });
}
