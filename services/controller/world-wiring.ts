import { createLaunchQueue } from '#src/adapters/bullmq/launch-queue.ts';
import { createEventLog } from '#src/adapters/event-log/event-log.ts';
import { logIdOf } from '#src/adapters/event-log/log-folder.ts';
import type { CallMeasure } from '#src/adapters/kubernetes/api/calls.ts';
import { loadCredentials } from '#src/adapters/kubernetes/api/credentials.ts';
import { createKubernetesProvider } from '#src/adapters/kubernetes/provider.ts';
import { createLocalProvider } from '#src/adapters/local/provider.ts';
import { openTracer } from '#src/adapters/opentelemetry/open-tracer.ts';
import type { Prometheus } from '#src/adapters/prometheus/prometheus.ts';
import { awaitFleetState } from '#src/adapters/redis/fleet-state.ts';
import { createSandboxdHttpLink } from '#src/adapters/sandboxd-http/link.ts';
import { AgreedEnvironments } from '#src/environments/agreed-environments.ts';
import { loadCluster } from '#src/environments/load-cluster.ts';
import { WatchedFolder } from '#src/environments/watched-folder.ts';
import { systemClock } from '#src/platform/clock.ts';
import { openFleetTokens } from '#src/platform/fleet-tokens.ts';
import { errorFields } from '#src/platform/logging.ts';
import { systemRandom } from '#src/platform/random.ts';
import type { Log } from '#src/ports/log.ts';
import type { SandboxProvider } from '#src/ports/sandbox-provider.ts';
import type { ControllerConfig } from './config.ts';

/** Redis answers in well under a millisecond; seconds mean that it does not. */
const redisTimeoutMs = 2_000;
/** A sandbox's address is on this machine or in this cluster: a connection takes milliseconds. */
const connectTimeoutMs = 2_000;
/** Of the name that a process has among those of its fleet: no two are the same. */
const processNameLength = 16;

/** What is counted of the world itself. */
type Seeing = Pick<Prometheus, 'fleetState' | 'eventsDropped' | 'logs' | 'apiCall'>;

export type OpenWorld = Awaited<ReturnType<typeof openWorld>>;

/** Everything outside the process that a controller needs, and how to let go of it. Throws what loading and connecting throw. */
export async function openWorld(config: ControllerConfig, log: Log, prometheus: Seeing) {
  const folder = await WatchedFolder.open(config.environmentsDir, config.policyFile);
  const tokens = await openFleetTokens(config.fleetKeyFile);
  const system = { clock: systemClock, random: systemRandom };
  const onTrouble = (error: Error) => log.warn('trouble with Redis', errorFields(error));
  const state = await awaitFleetState(
    {
      ...config.redis,
      fleet: config.fleet,
      timings: config.timings,
      commandTimeoutMs: redisTimeoutMs,
      onTrouble,
      onScript: prometheus.fleetState.script,
    },
    { ...system, log },
  );
  const processName = systemRandom.text(processNameLength);
  const catalog = new AgreedEnvironments({
    folder,
    catalogs: state.catalogs,
    published: state.environments,
    holder: processName,
    log,
  });
  // Before the first plan, so that no pool is made of an old folder; without fleet state its own is all it has.
  await catalog.agree().catch(() => undefined);
  const queue = createLaunchQueue({
    redis: config.redis.url,
    files: config.redis.files,
    fleet: config.fleet,
    onError: onTrouble,
  });
  const link = createSandboxdHttpLink({ tokenOf: (sandbox) => tokens.tokenOf(sandbox), connectTimeoutMs });
  const provider = await connectEngine(config, log, prometheus.apiCall);
  const onDropped = prometheus.eventsDropped;
  const onWritten = prometheus.logs.written('events');
  const eventLog = { ...config.eventLog, process: 'controller', log, onDropped, onWritten };
  const events = createEventLog({ ...eventLog, ...system });
  const { folder: eventFolder, maxBytes } = config.eventLog;
  if (eventFolder !== null) prometheus.logs.limited(['events'], maxBytes);
  const logId = eventFolder === null ? processName : await logIdOf(eventFolder, systemRandom);
  const tracer = await openTracer(config.traces, { service: 'corral-controller', fleet: config.fleet }, log);
  const close = async (): Promise<void> => {
    await Promise.all([queue.close(), link.close(), provider.close(), state.close()]);
  };
  return {
    ...system,
    processName,
    catalog,
    tokens,
    state,
    queue,
    link,
    provider,
    events,
    logId,
    tracer,
    close,
  };
}

/**
 * The provider that the configuration names; connections are made when they are needed. `onCall` is told of every call of the
 * Kubernetes API; never on one machine. Throws what is wrong in the cluster file or the kubeconfig.
 */
async function connectEngine(
  { engine, fleet }: Pick<ControllerConfig, 'engine' | 'fleet'>,
  log: Log,
  onCall: (measure: CallMeasure) => void,
): Promise<SandboxProvider & { close(): Promise<void> }> {
  const [clock, random] = [systemClock, systemRandom];
  if (engine.kind === 'local') return createLocalProvider({ socketPath: engine.nodeSocket, clock });
  const cluster = await loadCluster(engine.clusterFile);
  const credentials = await loadCredentials(engine.kubeconfig, clock);
  return createKubernetesProvider({ clock, random, log, credentials, pods: { ...cluster, fleet }, onCall });
}
