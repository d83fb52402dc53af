import type { CallMeasure } from '#src/adapters/kubernetes/api/calls.ts';
import { loadCredentials } from '#src/adapters/kubernetes/api/credentials.ts';
import { createKubernetesProvider } from '#src/adapters/kubernetes/provider.ts';
import { createLocalProvider } from '#src/adapters/local/provider.ts';
import { loadCluster } from '#src/environments/load-cluster.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { Log } from '#src/ports/log.ts';
import type { Random } from '#src/ports/random.ts';
import type { SandboxProvider } from '#src/ports/sandbox-provider.ts';
import type { ControllerConfig } from './config.ts';

type World = {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Told of every call of the Kubernetes API; never on one machine. */
  readonly onApiCall: (measure: CallMeasure) => void;
};

/**
 * The provider that the configuration names; connections are made when they are needed. Throws what is wrong in the
 * cluster file or the kubeconfig.
 */
export async function connectEngine(
  { engine, fleet }: Pick<ControllerConfig, 'engine' | 'fleet'>,
  { onApiCall, ...world }: World,
): Promise<SandboxProvider & { close(): Promise<void> }> {
  if (engine.kind === 'local') {
    return createLocalProvider({ socketPath: engine.nodeSocket, clock: world.clock });
  }
  const cluster = await loadCluster(engine.clusterFile);
  const credentials = await loadCredentials(engine.kubeconfig, world.clock);
  return createKubernetesProvider({ ...world, credentials, pods: { ...cluster, fleet }, onCall: onApiCall });
}
