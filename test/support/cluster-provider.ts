import { readdir, readFile } from 'node:fs/promises';
import { type Cluster, kubectl } from '#infra/cluster/api.ts';
import { importImages } from '#infra/cluster/images/import.ts';
import { buildImage } from '#infra/images/build.ts';
import type { CallMeasure } from '#src/adapters/kubernetes/api/calls.ts';
import { loadCredentials } from '#src/adapters/kubernetes/api/credentials.ts';
import { createKubernetesProvider, type KubernetesProvider } from '#src/adapters/kubernetes/provider.ts';
import type { PodSettings } from '#src/model/cluster.ts';
import type { Template } from '#src/model/environment.ts';
import { type SandboxId, templateDigest } from '#src/model/ids.ts';
import { systemClock } from '#src/platform/clock.ts';
import { systemRandom } from '#src/platform/random.ts';
import { createFakeLog } from '../fakes/log.ts';
import { podSettings } from '../fakes/pod-request.ts';
import { untilPodsAreAccepted } from './kubectl.ts';
import { testTemplate } from './sandboxes.ts';

export type ClusterProvider = {
  readonly provider: KubernetesProvider;
  /** A template that starts there. */
  readonly template: Template;
  /** Every call of the API so far. */
  readonly measures: CallMeasure[];
  /** Ends it; a namespace of its own goes with everything in it. */
  close(): Promise<void>;
};

/** A provider with a namespace of its own in a real cluster, whose nodes have the bare image. */
export async function openClusterProvider(
  cluster: Cluster,
  namespace: string,
  changes: Partial<PodSettings> = {},
): Promise<ClusterProvider> {
  await kubectl(cluster, ['create', 'namespace', namespace]);
  const joined = await joinClusterProvider(cluster, cluster.kubeconfig, {
    namespace,
    fleet: namespace,
    ...changes,
  });
  return {
    ...joined,
    close: async () => {
      await joined.close();
      await kubectl(cluster, ['delete', 'namespace', namespace, '--wait=false']);
    },
  };
}

/** As {@link openClusterProvider}, in a namespace that is there and stays, and as whom the kubeconfig names. */
export async function joinClusterProvider(
  cluster: Cluster,
  kubeconfig: string,
  pods: Partial<PodSettings> & Pick<PodSettings, 'namespace'>,
): Promise<ClusterProvider> {
  const { archive, name } = await buildImage('bare');
  await Promise.all(cluster.nodes.map((node) => importImages(cluster, node, [archive])));
  await untilPodsAreAccepted(pods.namespace);
  const measures: CallMeasure[] = [];
  const provider = createKubernetesProvider({
    credentials: await loadCredentials(kubeconfig, systemClock),
    pods: podSettings({ imagePullPolicy: 'Never', ...pods }),
    clock: systemClock,
    random: systemRandom,
    log: createFakeLog(),
    onCall: (measure) => void measures.push(measure),
  });
  return {
    provider,
    measures,
    template: testTemplate({
      digest: templateDigest('d'.repeat(64)),
      image: { kind: 'image', reference: name },
      memory: { requestBytes: 32 * mebibyte, limitBytes: 256 * mebibyte },
      cpu: { requestMilli: 10, limitMilli: 1000 },
    }),
    close: () => provider.close(),
  };
}

const mebibyte = 1024 * 1024;

/** SIGKILL to a sandbox's sandboxd, from the machine on which the cluster's nodes are only namespaces. */
export async function killSandboxd(sandbox: SandboxId): Promise<void> {
  const pids = (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry));
  const own = await Promise.all(pids.map(async (pid) => ((await isOf(pid, sandbox)) ? [pid] : [])));
  const all = new Set(own.flat());
  // A process that sandboxd starts has its environment for a moment.
  const parents = await Promise.all([...all].map(async (pid) => [pid, await parentOf(pid)] as const));
  const first = parents.find(([, parent]) => parent !== null && !all.has(parent));
  if (first === undefined) throw new Error(`no sandboxd of ${sandbox} runs on this machine`);
  process.kill(Number(first[0]), 'SIGKILL');
}

async function isOf(pid: string, sandbox: SandboxId): Promise<boolean> {
  const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
  return environment.split('\0').includes(`CORRAL_SANDBOX_ID=${sandbox}`);
}

/** Null: it has ended. */
async function parentOf(pid: string): Promise<string | null> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return /^PPid:\t(\d+)$/m.exec(status)?.[1] ?? null;
}
