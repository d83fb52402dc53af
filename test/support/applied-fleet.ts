import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { kubectl } from '../../infra/cluster/api.ts';
import type { Cluster } from '../../infra/cluster/api.ts';
import { apiPort, hubAddress } from '../../infra/cluster/plan.ts';
import { runCorral } from './command-line.ts';

/** What an operator has after `corral cluster manifests | kubectl apply -f -`. */
export type AppliedFleet = AsyncDisposable & {
  readonly fleet: string;
  /** Of its processes. */
  readonly home: string;
  /** Of its sandboxes. */
  readonly namespace: string;
  readonly clusterFile: string;
  /** A kubeconfig with a token of one of the fleet's own accounts. */
  kubeconfigAs(account: 'controller' | 'gateway'): Promise<string>;
};

/** `settings`: the rest of the cluster file, YAML in braces. Everything goes when it is disposed of. */
export async function applyFleet(cluster: Cluster, fleet: string, settings = ''): Promise<AppliedFleet> {
  const folder = await mkdtemp(join(tmpdir(), 'corral-applied-'));
  const [namespace, clusterFile] = [`${fleet}-sandboxes`, join(folder, 'cluster.yaml')];
  const base = `namespace: ${namespace}\nsandboxd: baked\nimage_pull_policy: Never\n`;
  await writeFile(clusterFile, base + settings);
  await kubectl(cluster, ['apply', '-f', '-'], await manifestsOf(clusterFile, fleet));
  return {
    fleet,
    home: fleet,
    namespace,
    clusterFile,
    kubeconfigAs: async (account) => {
      const file = join(folder, `${account}.kubeconfig`);
      await writeFile(file, await kubeconfigWith(cluster, await tokenOf(cluster, fleet, account)));
      return file;
    },
    [Symbol.asyncDispose]: async () => {
      await removeFleet(cluster, fleet);
      await rm(folder, { recursive: true });
    },
  };
}

/** What the operator's page says to remove a fleet with. */
export async function removeFleet(cluster: Cluster, fleet: string): Promise<void> {
  const kinds = 'namespaces,clusterroles,clusterrolebindings';
  await kubectl(cluster, ['delete', kinds, '-l', `corral.dev/fleet=${fleet}`, '--wait=false']);
}

async function manifestsOf(file: string, fleet: string): Promise<string> {
  const options = ['--file', file, '--fleet', fleet, '--home', fleet];
  const { exitCode, printed, said } = await runCorral(['cluster', 'manifests', ...options]);
  if (exitCode !== 0) throw new Error(said);
  return printed;
}

/** As the kubelet gets one for a pod of the account: by TokenRequest. */
const tokenOf = (cluster: Cluster, fleet: string, account: string): Promise<string> =>
  kubectl(cluster, ['create', 'token', `${fleet}-${account}`, '-n', fleet, '--duration=1h']);

type Kubeconfig = { readonly clusters: readonly { readonly name: string; readonly cluster: object }[] };

/** The API server under the address that pods have for it. */
async function kubeconfigWith(cluster: Cluster, token: string): Promise<string> {
  const ours = ['config', 'view', '--raw', '--minify', '--flatten', '-o', 'json'];
  const { clusters } = JSON.parse(await kubectl(cluster, ours)) as Kubeconfig;
  const server = `https://${hubAddress}:${apiPort}`;
  const named = clusters.map(({ name, cluster: its }) => ({ name, cluster: { ...its, server } }));
  return JSON.stringify({
    clusters: named,
    users: [{ name: 'account', user: { token: token.trim() } }],
    contexts: [{ name: 'account', context: { cluster: named[0]?.name, user: 'account' } }],
    'current-context': 'account',
  });
}
