import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { type Cluster, kubectl } from '#infra/cluster/api.ts';
import { type Credentials, loadCredentials } from '#src/adapters/kubernetes/api/credentials.ts';
import { chooseTemplate } from '#src/environments/choose-template.ts';
import { loadCluster } from '#src/environments/load-cluster.ts';
import { loadPermitted } from '#src/environments/load-environments.ts';
import type { PodSettings } from '#src/model/cluster.ts';
import type { Template } from '#src/model/environment.ts';
import { environmentName } from '#src/model/ids.ts';
import { systemClock } from '#src/platform/clock.ts';
import { type BareClient, connectBare } from './bare-client.ts';

/** Where one measurement works: a namespace of its own in the cluster, and what is needed to put pods there. */
export type Site = AsyncDisposable & {
  readonly credentials: Credentials;
  readonly bare: BareClient;
  /** As a fleet on this site makes its pods. */
  readonly settings: PodSettings;
  /** The operator's file about it. */
  readonly clusterFile: string;
  template(environment: 'fake' | 'real'): Promise<Template>;
};

export const environmentsDir = join(import.meta.dirname, 'environments');
/** The name that every fleet on one machine has. */
const fleet = 'local';

export async function openSite(cluster: Cluster, namespace: string): Promise<Site> {
  const clusterFile = join(cluster.folder, `${namespace}.yaml`);
  await writeFile(clusterFile, stringify({ namespace, sandboxd: 'baked', image_pull_policy: 'Never' }));
  await kubectl(cluster, ['create', 'namespace', namespace]);
  await kubectl(cluster, [
    'wait',
    '--for=create',
    'serviceaccount/default',
    '-n',
    namespace,
    '--timeout=30s',
  ]);
  const credentials = await loadCredentials(cluster.kubeconfig, systemClock);
  const bare = await connectBare(credentials);
  return {
    credentials,
    bare,
    clusterFile,
    settings: { ...(await loadCluster(clusterFile)), fleet },
    template: async (name) => {
      const catalog = await loadPermitted(environmentsDir, null);
      const found = catalog.newest(environmentName(name));
      if (found === undefined) throw new Error(`there is no environment ${name}`);
      return chooseTemplate(found, null).template;
    },
    [Symbol.asyncDispose]: async () => {
      bare.close();
      await kubectl(cluster, ['delete', 'namespace', namespace, '--wait=false']);
    },
  };
}
