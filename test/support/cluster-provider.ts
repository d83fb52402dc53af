import { readdir, readFile } from 'node:fs/promises';
import { kubectl } from '../../infra/cluster/api.ts';
import type { Cluster } from '../../infra/cluster/api.ts';
import { importImages } from '../../infra/cluster/images/import.ts';
import { buildImage } from '../../infra/images/build.ts';
import type { CallMeasure } from '../../src/adapters/kubernetes/api/calls.ts';
import { loadCredentials } from '../../src/adapters/kubernetes/api/credentials.ts';
import type { PodSettings } from '../../src/adapters/kubernetes/pod/settings.ts';
import { createKubernetesProvider } from '../../src/adapters/kubernetes/provider.ts';
import type { KubernetesProvider } from '../../src/adapters/kubernetes/provider.ts';
import { templateDigest } from '../../src/model/ids.ts';
import type { SandboxId } from '../../src/model/ids.ts';
import type { Template } from '../../src/model/environment.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { createFakeLog } from '../fakes/log.ts';
import { podSettings } from '../fakes/pod-request.ts';
import { testTemplate } from './sandboxes.ts';

export type ClusterProvider = {
  readonly provider: KubernetesProvider;
  /** A template that starts there. */
  readonly template: Template;
  /** Every call of the API so far. */
  readonly measures: CallMeasure[];
  /** Removes the namespace with everything in it. */
  close(): Promise<void>;
};

/** A provider with a namespace of its own in a real cluster, whose nodes have the demo image. */
export async function openClusterProvider(
  cluster: Cluster,
  namespace: string,
  changes: Partial<PodSettings> = {},
): Promise<ClusterProvider> {
  const { archive, name } = await buildImage('demo');
  await Promise.all(cluster.nodes.map((node) => importImages(node, [archive])));
  await kubectl(cluster, ['create', 'namespace', namespace]);
  await kubectl(cluster, [
    'wait',
    '--for=create',
    'serviceaccount/default',
    '-n',
    namespace,
    '--timeout=30s',
  ]);
  const measures: CallMeasure[] = [];
  const provider = createKubernetesProvider({
    credentials: await loadCredentials(cluster.kubeconfig, systemClock),
    pods: podSettings({ namespace, fleet: namespace, imagePullPolicy: 'Never', ...changes }),
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
    close: async () => {
      await provider.close();
      await kubectl(cluster, ['delete', 'namespace', namespace, '--wait=false']);
    },
  };
}

const mebibyte = 1024 * 1024;

/** SIGKILL to a sandbox's sandboxd, from the machine on which the cluster's nodes are only namespaces. */
export async function killSandboxd(sandbox: SandboxId): Promise<void> {
  const pids = (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry));
  const own = await Promise.all(pids.map(async (pid) => ((await isSandboxd(pid, sandbox)) ? [pid] : [])));
  const [pid] = own.flat();
  if (pid === undefined) throw new Error(`no sandboxd of ${sandbox} runs on this machine`);
  process.kill(Number(pid), 'SIGKILL');
}

async function isSandboxd(pid: string, sandbox: SandboxId): Promise<boolean> {
  const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
  return environment.split('\0').includes(`CORRAL_SANDBOX_ID=${sandbox}`);
}
