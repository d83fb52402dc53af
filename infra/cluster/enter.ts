import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Cluster } from './api.ts';
import { inNamespace } from './machine/namespace.ts';

/** Names the cluster to whoever runs inside its hub, for {@link openCluster}. */
export const clusterVariable = 'CORRAL_CLUSTER';

/**
 * Runs a command in the hub, where the API server and every pod are reached by their addresses, with KUBECONFIG set and
 * kubectl on the PATH. Resolves with its exit code.
 */
export async function runInCluster(cluster: Cluster, argv: readonly string[]): Promise<number> {
  const [program = '', ...args] = inNamespace(cluster.hub, argv);
  const env = {
    ...process.env,
    KUBECONFIG: cluster.kubeconfig,
    [clusterVariable]: cluster.name,
    PATH: `${cluster.programs}:${process.env['PATH'] ?? ''}`,
  };
  const child = spawn(program, args, { stdio: 'inherit', env });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}
