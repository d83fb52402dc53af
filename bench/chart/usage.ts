import { type Cluster, kubectl } from '#infra/cluster/api.ts';

/** Of containers together, by their nodes' kubelets. */
export type Usage = { readonly atMs: number; readonly cpuMs: number; readonly residentBytes: number };

type Summary = {
  readonly pods: readonly {
    readonly podRef: { readonly namespace: string };
    readonly containers?: readonly {
      readonly name: string;
      readonly cpu?: { readonly time: string; readonly usageCoreNanoSeconds?: number };
      readonly memory?: { readonly rssBytes?: number };
    }[];
  }[];
};

/** What the gateways and controllers of a namespace have used so far, and when that was read. Throws where a kubelet has not looked yet. */
export async function readUsage(cluster: Cluster, namespace: string): Promise<Usage> {
  const summaries = await Promise.all(cluster.nodes.map(({ name }) => summaryOf(cluster, name)));
  const pods = summaries.flatMap((summary) => summary.pods);
  const containers = pods
    .filter(({ podRef }) => podRef.namespace === namespace)
    .flatMap((pod) => pod.containers ?? [])
    .filter(({ name }) => name === 'gateway' || name === 'controller');
  const parts = containers.map(({ cpu, memory }) => {
    if (cpu?.usageCoreNanoSeconds === undefined || memory?.rssBytes === undefined) throw new Error('not yet');
    return {
      atMs: Date.parse(cpu.time),
      cpuMs: cpu.usageCoreNanoSeconds / 1e6,
      residentBytes: memory.rssBytes,
    };
  });
  const sum = (of: (part: Usage) => number) => parts.reduce((total, part) => total + of(part), 0);
  return {
    atMs: sum(({ atMs }) => atMs) / parts.length,
    cpuMs: sum(({ cpuMs }) => cpuMs),
    residentBytes: sum(({ residentBytes }) => residentBytes),
  };
}

async function summaryOf(cluster: Cluster, node: string): Promise<Summary> {
  const path = `/api/v1/nodes/${node}/proxy/stats/summary`;
  return JSON.parse(await kubectl(cluster, ['get', '--raw', path])) as Summary;
}
