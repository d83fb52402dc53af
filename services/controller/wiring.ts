import { createLaunchQueue } from '#src/adapters/bullmq/launch-queue.ts';
import { createEventLog } from '#src/adapters/event-log/event-log.ts';
import { logIdOf } from '#src/adapters/event-log/log-folder.ts';
import type { CallMeasure } from '#src/adapters/kubernetes/api/calls.ts';
import { loadCredentials } from '#src/adapters/kubernetes/api/credentials.ts';
import { createKubernetesProvider } from '#src/adapters/kubernetes/provider.ts';
import { createLocalProvider } from '#src/adapters/local/provider.ts';
import { openTracer } from '#src/adapters/opentelemetry/open-tracer.ts';
import { createPrometheus } from '#src/adapters/prometheus/prometheus.ts';
import { awaitFleetState } from '#src/adapters/redis/fleet-state.ts';
import { createSandboxdHttpLink } from '#src/adapters/sandboxd-http/link.ts';
import { AgreedEnvironments, agreeMs } from '#src/environments/agreed-environments.ts';
import { loadCluster } from '#src/environments/load-cluster.ts';
import { WatchedFolder } from '#src/environments/watched-folder.ts';
import { recordEnds, recordTaints } from '#src/lifecycle/record-ends.ts';
import { systemClock } from '#src/platform/clock.ts';
import { every, type Loop } from '#src/platform/every.ts';
import { openFleetTokens } from '#src/platform/fleet-tokens.ts';
import { errorFields } from '#src/platform/logging.ts';
import { ownAddress, tellKeeper, thisProcess } from '#src/platform/this-process.ts';
import { systemRandom } from '#src/platform/random.ts';
import { lookAtState, soonOrNull } from '#src/platform/state-health.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { FleetEvent } from '#src/ports/event-log.ts';
import type { Log } from '#src/ports/log.ts';
import type { Random } from '#src/ports/random.ts';
import type { SandboxProvider } from '#src/ports/sandbox-provider.ts';
import { answerPeer, OwnEvents } from '#src/reports/own-events.ts';
import { tracedLifecycle, verdictSpans } from '#src/tracing/verdict-spans.ts';
import { tellPresence, RecentVerdicts } from '#src/watching/presence.ts';
import type { ControllerConfig } from './config.ts';
import { startController } from './controller.ts';
import { serveOperations } from './http.ts';

/** Redis answers in well under a millisecond; seconds mean that it does not. */
const redisTimeoutMs = 2_000;
/** A sandbox's address is on this machine or in this cluster: a connection takes milliseconds. */
const connectTimeoutMs = 2_000;
/** Of the name that a process has among those of its fleet: no two are the same. */
const processNameLength = 16;

/**
 * Connects everything and starts the controller. Returns how to stop it; throws what connecting and loading throw.
 *
 * As in a gateway, loops get stores that also write down what a settlement or a loss ends with it: whoever finds it, the event log
 * hears of it. It ends from the outside in: no new work, then what runs is given back or done, then what tells of it, and the
 * connections that all of these use last. Until its launches are given back it is `leaving` for whoever looks at the fleet.
 */
export async function runController(config: ControllerConfig, log: Log): Promise<() => Promise<void>> {
  const folder = await WatchedFolder.open(config.environmentsDir, config.policyFile);
  const tokens = await openFleetTokens(config.fleetKeyFile);
  const onTrouble = (error: Error) => log.warn('trouble with Redis', errorFields(error));
  const system = { clock: systemClock, random: systemRandom };
  // Scripts are counted from the first on, and which environments there are is known only later.
  let agreed: AgreedEnvironments | null = null;
  const prometheus = createPrometheus({
    version: thisProcess.version,
    environments: () => agreed?.all().map(({ name }) => name) ?? [],
  });
  const onScript = prometheus.fleetState.script;
  const state = await awaitFleetState(
    { ...config.redis, fleet: config.fleet, commandTimeoutMs: redisTimeoutMs, onTrouble, onScript },
    { ...system, log },
  );
  const processName = systemRandom.text(processNameLength);
  const environments = new AgreedEnvironments({
    folder,
    catalogs: state.catalogs,
    published: state.environments,
    holder: processName,
    log,
  });
  agreed = environments;
  // Before the first plan, so that no pool is made of an old folder; without fleet state its own is all it has.
  await environments.agree().catch(() => undefined);
  const queue = createLaunchQueue({
    redis: config.redis.url,
    files: config.redis.files,
    fleet: config.fleet,
    max: config.startBudget,
    random: systemRandom,
    onError: onTrouble,
  });
  const link = createSandboxdHttpLink({ tokenOf: (sandbox) => tokens.tokenOf(sandbox), connectTimeoutMs });
  const provider = await connectEngine(config, { ...system, log, onApiCall: prometheus.apiCall });
  const events = createEventLog({
    ...config.eventLog,
    process: 'controller',
    log,
    onDropped: prometheus.eventsDropped,
    ...system,
  });
  const tracer = await openTracer(config.traces, { service: 'corral-controller', fleet: config.fleet }, log);
  const tellSpan = verdictSpans(tracer);
  const verdicts = new RecentVerdicts(systemClock);
  const record = (event: FleetEvent) => {
    events.append(event);
    prometheus.told(event);
    verdicts.told(event);
    tellSpan(event);
  };

  const controller = startController(
    {
      ...state,
      calls: recordTaints(state.calls, { ...state, ...system, record }),
      lifecycle: recordEnds(tracedLifecycle(state.lifecycle, tracer), { ...state, ...system, record }),
      record,
      queue,
      provider,
      link,
      tokens,
      ...system,
      tracer,
      metrics: prometheus.metrics,
      log,
    },
    {
      newest: () => environments.all(),
      poolOverrides: config.poolOverrides,
      startBudget: config.startBudget,
    },
  );
  const stopping = new AbortController();
  const leaving = new AbortController();
  const { folder: eventFolder } = config.eventLog;
  const logId = eventFolder === null ? processName : await logIdOf(eventFolder, systemRandom);
  const own = new OwnEvents({ log: events, clock: systemClock });
  let address: string | null = null;
  const agreeing = keepAgreeing(environments, () => controller.environmentsChanged(), log, stopping.signal);
  const operations =
    config.listen === null
      ? null
      : await serveOperations({
          listen: config.listen,
          missing: () => controller.missing(),
          fleetState: () => state.health(),
          environments: () => environments.inForce(),
          answerPeer: (target, authorization) =>
            address === null ? null : answerPeer({ own, address, tokens }, target, authorization),
          clock: systemClock,
          metrics: {
            render: async () => {
              prometheus.fleetState.seen(await lookAtState(state, systemClock));
              prometheus.sandboxCost(await soonOrNull(state.reports.cost(), systemClock));
              prometheus.launchQueue(await soonOrNull(queue.counts(), systemClock));
              prometheus.environments(environments.inForce());
              return prometheus.render();
            },
            contentType: prometheus.contentType,
          },
        });

  const { startBudget } = config;
  const presence = tellPresence({
    watch: state.watch,
    clock: systemClock,
    self: { kind: 'controller', ...thisProcess },
    process: processName,
    present: () => ({
      state: stopping.signal.aborted ? 'leaving' : 'serving',
      inHand: { starts: controller.startsUnderWay() },
      atMost: { starts: startBudget },
      verdicts: verdicts.counts(),
    }),
    onError: (thrown) => log.debug('nobody heard that this process is there', errorFields(thrown)),
    signal: leaving.signal,
  });
  if (operations !== null && config.listen !== null) {
    address = ownAddress({ host: config.listen.host, port: operations.port }, config.advertisedHost);
  }
  const telling = tellKeeper({
    keepers: state.eventKeepers,
    log: logId,
    keeper: { component: 'controller', address, keeps: eventFolder !== null },
    clock: systemClock,
    signal: stopping.signal,
    onError: (thrown) => log.debug('nobody heard where events are told', errorFields(thrown)),
  });
  const keyWatch = tokens.watch({ clock: systemClock, log, signal: stopping.signal });

  return async () => {
    stopping.abort();
    await Promise.all([keyWatch.done, agreeing.done, telling.done]);
    await Promise.all([controller.stop(), environments.leave().catch(() => undefined)]);
    await Promise.all([events.flush(), tracer.close()]);
    leaving.abort();
    await presence;
    await Promise.all([operations?.close(), queue.close(), link.close(), provider.close(), state.close()]);
  };
}

/** Follows the folder and the other processes until the signal aborts; what fails is tried again by the next step. */
function keepAgreeing(
  environments: AgreedEnvironments,
  changed: () => void,
  log: Log,
  signal: AbortSignal,
): Loop {
  const onError = (thrown: unknown) =>
    log.debug('the environments could not be agreed on', errorFields(thrown));
  return every({ intervalMs: agreeMs, clock: systemClock, signal, onError }, async () => {
    const before = environments.all();
    await environments.step().finally(() => {
      if (environments.all() !== before) changed();
    });
  });
}

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
async function connectEngine(
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
