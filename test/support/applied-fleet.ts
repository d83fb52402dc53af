import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCorral } from './command-line.ts';
import { kubectl } from './kubectl.ts';

/** What an operator has after `corral cluster manifests | kubectl apply -f -`. */
export type AppliedFleet = AsyncDisposable & {
  readonly fleet: string;
  /** Of its processes. */
  readonly home: string;
  /** Of its sandboxes. */
  readonly namespace: string;
  readonly clusterFile: string;
  /** A kubeconfig with a token of one of the fleet's own accounts; `server`: by another address than KUBECONFIG has. */
  kubeconfigAs(account: 'controller' | 'gateway', server?: string): Promise<string>;
};

/** `settings`: the rest of the cluster file, YAML in braces. Everything goes when it is disposed of. */
export async function applyFleet(fleet: string, settings = ''): Promise<AppliedFleet> {
  const folder = await mkdtemp(join(tmpdir(), 'corral-applied-'));
  const [namespace, clusterFile] = [`${fleet}-sandboxes`, join(folder, 'cluster.yaml')];
  const base = `namespace: ${namespace}\nsandboxd: baked\nimage_pull_policy: Never\n`;
  await writeFile(clusterFile, base + settings);
  await kubectl(['apply', '-f', '-'], await manifestsOf(clusterFile, fleet));
  return {
    fleet,
    home: fleet,
    namespace,
    clusterFile,
    kubeconfigAs: async (account, server) => {
      const file = join(folder, `${account}.kubeconfig`);
      await writeFile(file, await kubeconfigWith(await tokenOf(fleet, account), server));
      return file;
    },
    [Symbol.asyncDispose]: async () => {
      await removeFleet(fleet);
      await rm(folder, { recursive: true });
    },
  };
}

/** What the operator's page says to remove a fleet with. */
async function removeFleet(fleet: string): Promise<void> {
  const ours = ['-l', `corral.dev/fleet=${fleet}`, '--wait=false'];
  await kubectl(['delete', 'namespaces,clusterroles,clusterrolebindings', ...ours]);
  await kubectl(['delete', 'roles,rolebindings', '-n', 'default', ...ours]);
}

async function manifestsOf(file: string, fleet: string): Promise<string> {
  const options = ['--file', file, '--fleet', fleet, '--home', fleet];
  const { exitCode, printed, said } = await runCorral(['cluster', 'manifests', ...options]);
  if (exitCode !== 0) throw new Error(said);
  return printed;
}

/** As the kubelet gets one for a pod of the account: by TokenRequest. */
const tokenOf = (fleet: string, account: string): Promise<string> =>
  kubectl(['create', 'token', `${fleet}-${account}`, '-n', fleet, '--duration=1h']);

type NamedCluster = { readonly name: string; readonly cluster: { readonly server: string } };
type Kubeconfig = { readonly clusters: readonly NamedCluster[] };

async function kubeconfigWith(token: string, server: string | undefined): Promise<string> {
  const ours = ['config', 'view', '--raw', '--minify', '--flatten', '-o', 'json'];
  const { clusters } = JSON.parse(await kubectl(ours)) as Kubeconfig;
  const named = clusters.map(({ name, cluster }) => ({
    name,
    cluster: { ...cluster, server: server ?? cluster.server },
  }));
  return JSON.stringify({
    clusters: named,
    users: [{ name: 'account', user: { token: token.trim() } }],
    contexts: [{ name: 'account', context: { cluster: named[0]?.name, user: 'account' } }],
    'current-context': 'account',
  });
}
