import { join } from 'node:path';
import { inNamespace } from './machine/namespace.ts';
import { run } from './machine/run.ts';
import { until } from './machine/until.ts';
import type { ClusterPlan } from './plan.ts';

/** A running cluster: its plan, and the folder of the programs that it runs. */
export type Cluster = ClusterPlan & { readonly programs: string };

/** Whoever has it wait says for how long by `--timeout`; this ends one that hangs. */
const kubectlTimeoutMs = 240_000;

/** Runs kubectl as the cluster's administrator; returns its stdout. */
export function kubectl(cluster: Cluster, args: readonly string[], stdin = ''): Promise<string> {
  const argv = [join(cluster.programs, 'kubectl'), `--kubeconfig=${cluster.kubeconfig}`, ...args];
  return run(inNamespace(cluster.hub, argv), { stdin, timeoutMs: kubectlTimeoutMs });
}

/** Everything here takes some seconds on an idle machine. */
const timeoutMs = 90_000;

export const untilApiAnswers = (cluster: Cluster): Promise<void> =>
  until({ what: 'the first answer of the API server', timeoutMs }, () =>
    kubectl(cluster, ['get', '--raw', '/readyz']).then(() => true),
  );

/** Until then pods are refused: they would have no service account. */
export const untilPodsAreAccepted = (cluster: Cluster): Promise<void> =>
  until({ what: 'the default service account', timeoutMs }, () =>
    kubectl(cluster, ['get', 'serviceaccount', 'default']).then(() => true),
  );

export const untilNodesAreReady = (cluster: Cluster): Promise<void> =>
  until({ what: 'every node Ready', timeoutMs, everyMs: 200 }, async () => {
    const ready = (await nodesOf(cluster)).filter((node) => node.ready === 'True');
    return ready.length === cluster.nodes.length + cluster.fakeNodes;
  });

export type NodeState = { readonly name: string; readonly ready: string; readonly fake: boolean };

/** `ready` is the cluster's own word: True, False or Unknown. */
export async function nodesOf(cluster: Cluster): Promise<readonly NodeState[]> {
  return readNodes(await kubectl(cluster, ['get', 'nodes', '-o', 'json']));
}

type NodeList = {
  readonly items: readonly {
    readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
    readonly status: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
  }[];
};

export function readNodes(text: string): readonly NodeState[] {
  return (JSON.parse(text) as NodeList).items.map(({ metadata, status }) => ({
    name: metadata.name,
    ready: status.conditions?.find(({ type }) => type === 'Ready')?.status ?? 'Unknown',
    fake: metadata.labels?.['type'] === 'kwok',
  }));
}
