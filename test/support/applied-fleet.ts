import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommandLine } from '../../cli/program.ts';
import { kubectl } from '../../infra/cluster/api.ts';
import type { Cluster } from '../../infra/cluster/api.ts';

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
  const printed: string[] = [];
  const remarks: string[] = [];
  const terminal = {
    result: (text: string) => void printed.push(text),
    remark: (text: string) => void remarks.push(text),
    width: Infinity,
  };
  const options = ['--file', file, '--fleet', fleet, '--home', fleet];
  const exitCode = await runCommandLine(['cluster', 'manifests', ...options], terminal);
  if (exitCode !== 0) throw new Error(remarks.join('\n'));
  return printed.join('\n');
}

/** As the kubelet gets one for a pod of the account: by TokenRequest. */
const tokenOf = (cluster: Cluster, fleet: string, account: string): Promise<string> =>
  kubectl(cluster, ['create', 'token', `${fleet}-${account}`, '-n', fleet, '--duration=1h']);

type Kubeconfig = { readonly clusters: unknown; readonly contexts: readonly { context: object }[] };

async function kubeconfigWith(cluster: Cluster, token: string): Promise<string> {
  const ours = ['config', 'view', '--raw', '--minify', '--flatten', '-o', 'json'];
  const admins = JSON.parse(await kubectl(cluster, ours)) as Kubeconfig;
  const [named] = admins.contexts;
  const context = { ...named, context: { ...named?.context, user: 'account' } };
  const users = [{ name: 'account', user: { token: token.trim() } }];
  return JSON.stringify({ ...admins, contexts: [context], users });
}
