import { createAskKeeper } from '#src/adapters/event-log/ask-keeper.ts';
import { createEventLog } from '#src/adapters/event-log/event-log.ts';
import { createKeptLog } from '#src/adapters/event-log/kept-log.ts';
import { logIdOf } from '#src/adapters/event-log/log-folder.ts';
import { createHttpJudge } from '#src/adapters/judge-http/http-judge.ts';
import { createLocalProvider } from '#src/adapters/local/provider.ts';
import { openTracer } from '#src/adapters/opentelemetry/open-tracer.ts';
import type { GatewayPrometheus } from '#src/adapters/prometheus/gateway-prometheus.ts';
import { createLaunchBoard } from '#src/adapters/bullmq/launch-board.ts';
import { awaitFleetState } from '#src/adapters/redis/fleet-state.ts';
import { createSandboxdHttpLink } from '#src/adapters/sandboxd-http/link.ts';
import { AgreedEnvironments } from '#src/environments/agreed-environments.ts';
import { WatchedFolder } from '#src/environments/watched-folder.ts';
import { systemClock } from '#src/platform/clock.ts';
import { openFleetTokens } from '#src/platform/fleet-tokens.ts';
import { errorFields } from '#src/platform/logging.ts';
import { systemRandom } from '#src/platform/random.ts';
import type { Log } from '#src/ports/log.ts';
import type { GatewayConfig } from './config.ts';
import { createKeyDoubt } from './key-doubt.ts';
import { wireTrajectories } from './trajectories-wiring.ts';
import { traceparentHere } from './traced.ts';

/** Redis answers in well under a millisecond; seconds mean that it does not. */
const redisTimeoutMs = 2_000;
/** A sandbox's address is on this machine or in this cluster: a connection takes milliseconds. */
const connectTimeoutMs = 2_000;
/** Of the name that a process has among those of its fleet: no two are the same. */
const processNameLength = 16;

/** What is counted of the world itself. */
type Seeing = Pick<GatewayPrometheus, 'fleetState' | 'eventsDropped' | 'logs'>;

export type OpenWorld = Awaited<ReturnType<typeof openWorld>>;

/** Everything outside the process that a gateway needs, and how to let go of it. Throws what loading and connecting throw. */
export async function openWorld(config: GatewayConfig, log: Log, prometheus: Seeing) {
  const { environmentsFolder, policyFile, machine, poolOverrides } = config;
  const folder = await WatchedFolder.open(environmentsFolder, policyFile, { machine, poolOverrides });
  const tokens = await openFleetTokens(config.fleetKeyFile);
  const system = { clock: systemClock, random: systemRandom };
  const state = await awaitFleetState(
    {
      ...config.redis,
      fleet: config.fleet,
      timings: config.timings,
      commandTimeoutMs: redisTimeoutMs,
      rowBytesOfTenant: config.maxTenantRowBytes,
      onTrouble: (error) => log.warn('trouble with Redis', errorFields(error)),
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
  // Before the first request, so that an old folder is not served for a moment; without fleet state its own is all it has.
  await catalog.agree().catch(() => undefined);
  const events = createEventLog({
    ...config.eventLog,
    process: 'gateway',
    log,
    onDropped: prometheus.eventsDropped,
    onWritten: prometheus.logs.written('events'),
    ...system,
  });
  const trajectories = wireTrajectories(config.trajectories, { ...system, log, logs: prometheus.logs });
  const kept = createKeptLog({
    ...config.eventLog,
    process: 'gateway',
    log,
    also: trajectories.add,
    onDropped: prometheus.logs.keptDropped,
    onWritten: prometheus.logs.written('kept'),
    ...system,
  });
  if (config.eventLog.folder !== null) prometheus.logs.limited(['events', 'kept'], config.eventLog.maxBytes);
  const { folder: eventFolder } = config.eventLog;
  const logId = eventFolder === null ? processName : await logIdOf(eventFolder, systemRandom);
  const peers = createAskKeeper({ tokens, random: systemRandom });
  const keyDoubt = createKeyDoubt(log, systemClock);
  const link = createSandboxdHttpLink({
    tokenOf: (sandbox) => tokens.tokenOf(sandbox),
    connectTimeoutMs,
    onAnswer: keyDoubt.answered,
    traceparent: traceparentHere,
  });
  const judge = createHttpJudge(system);
  const board = createLaunchBoard({
    redis: config.redis.url,
    files: config.redis.files,
    fleet: config.fleet,
    onError: (error) => log.debug('trouble with the launch queue', errorFields(error)),
  });
  const tracer = await openTracer(config.traces, { service: 'corral-gateway', fleet: config.fleet }, log);
  const node = config.nodeSocket === null ? null : nodeOf(config.nodeSocket);
  const close = async (): Promise<void> => {
    await Promise.all([events.flush(), kept.flush(), trajectories.close(), tracer.close()]);
    await Promise.all([
      link.close(),
      judge.close(),
      peers.close(),
      node?.close(),
      board.close(),
      state.close(),
    ]);
  };
  return {
    clock: systemClock,
    random: systemRandom,
    processName,
    board,
    catalog,
    tokens,
    state,
    events,
    keep: kept.keep,
    keepText: kept.keepText,
    logId,
    peers,
    link,
    keyDoubt,
    judge,
    node,
    tracer,
    close,
  };
}

const nodeOf = (socketPath: string) => createLocalProvider({ socketPath, clock: systemClock });
