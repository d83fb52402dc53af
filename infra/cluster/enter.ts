import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Cluster } from './api.ts';
import { inNamespace } from './machine/namespace.ts';

/** Names the cluster to whoever runs inside its hub, for {@link openCluster}. */
export const clusterVariable = 'CORRAL_CLUSTER';

/**
 * Runs a command in the hub, where the API server and every pod are reached by their addresses, with KUBECONFIG set and
 * kubectl and helm on the PATH. Resolves with its exit code; ends it, and rejects, when the signal aborts.
 */
export function runInCluster(
  cluster: Cluster,
  argv: readonly string[],
  interrupted?: AbortSignal,
): Promise<number> {
  const environment = {
    ...process.env,
    KUBECONFIG: cluster.kubeconfig,
    [clusterVariable]: cluster.name,
    PATH: `${cluster.programs}:${process.env['PATH'] ?? ''}`,
  };
  return runAttached(inNamespace(cluster.hub, argv), environment, interrupted);
}

/** Runs a command on our own terminal; resolves with its exit code. */
export async function runAttached(
  [program = '', ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
  interrupted?: AbortSignal,
): Promise<number> {
  const child = spawn(program, args, { stdio: 'inherit', env, signal: interrupted });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}
