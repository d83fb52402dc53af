import { createPrometheus, type Prometheus } from '#src/adapters/prometheus/prometheus.ts';
import { agreeMs } from '#src/environments/agreed-environments.ts';
import { recordEnds, recordRecovery, recordTaints } from '#src/lifecycle/record-ends.ts';
import { every, type Loop } from '#src/platform/every.ts';
import { errorFields } from '#src/platform/logging.ts';
import { lookAtState, soonOrNull } from '#src/platform/state-health.ts';
import { ownAddress, tellKeeper, thisProcess } from '#src/platform/this-process.ts';
import type { FleetEvent } from '#src/ports/event-log.ts';
import type { Log } from '#src/ports/log.ts';
import { answerPeer, OwnEvents } from '#src/reports/own-events.ts';
import { tracedLifecycle, verdictSpans } from '#src/tracing/verdict-spans.ts';
import { FleetTimings } from '#src/watching/fleet-timings.ts';
import { RecentVerdicts, tellPresence } from '#src/watching/presence.ts';
import type { ControllerConfig } from './config.ts';
import { startController } from './controller.ts';
import { type OperationsServer, serveOperations } from './http.ts';
import type { ControllerPorts } from './ports.ts';
import { openWorld, type OpenWorld } from './world-wiring.ts';

/**
 * Connects everything and starts the controller. Returns how to stop it; throws what connecting and loading throw.
 *
 *   what operators ask   operations: ready or not, metrics, its own log   (http.ts)
 *   what works           the controller's loops                           (controller.ts)
 *   what it stands on    world: fleet state, queue, provider, sandboxes   (world-wiring.ts)
 *
 * It ends from the outside in: no new work, then what runs is given back or done, then what tells of it, and the
 * connections that all of these use last. Until its launches are given back it is `leaving` for whoever looks at the fleet.
 */
export async function runController(config: ControllerConfig, log: Log): Promise<() => Promise<void>> {
  // The world is counted from its first command on, and only later says which environments there are.
  let opened: OpenWorld | null = null;
  const prometheus = createPrometheus({
    version: thisProcess.version,
    environments: () => opened?.catalog.all().map(({ name }) => name) ?? [],
  });
  const world = await openWorld(config, log, prometheus);
  opened = world;
  const { catalog, clock, events, tokens, tracer } = world;
  const verdicts = new RecentVerdicts(clock);
  const controller = startController(portsOf(config, world, prometheus, verdicts, log), {
    newest: () => catalog.all(),
    poolOverrides: config.poolOverrides,
    startBudget: config.startBudget,
  });

  const stopping = new AbortController();
  const { signal } = stopping;
  const leaving = new AbortController();
  const agreeing = keepAgreeing(world, () => controller.environmentsChanged(), log, signal);
  const timings = new FleetTimings(config, log);
  const missing = () => [...controller.missing(), ...missingTimings(timings)];
  const operated = await operate(config, world, missing, prometheus);
  const presence = tellPresence({
    watch: world.state.watch,
    clock,
    self: { kind: 'controller', ...thisProcess },
    process: world.processName,
    present: () => ({
      state: signal.aborted ? 'leaving' : 'serving',
      inHand: { starts: controller.startsUnderWay() },
      atMost: { starts: config.startBudget },
      verdicts: verdicts.counts(),
    }),
    timings,
    onError: (thrown) => log.debug('nobody heard that this process is there', errorFields(thrown)),
    signal: leaving.signal,
  });
  const telling = tellKeeper({
    keepers: world.state.eventKeepers,
    log: world.logId,
    keeper: {
      component: 'controller',
      address: operated?.address ?? null,
      keeps: config.eventLog.folder !== null,
    },
    clock,
    signal,
    onError: (thrown) => log.debug('nobody heard where events are told', errorFields(thrown)),
  });
  const keyWatch = tokens.watch({ clock, log, signal });

  return async () => {
    stopping.abort();
    await Promise.all([keyWatch.done, agreeing.done, telling.done]);
    await Promise.all([controller.stop(), catalog.leave().catch(() => undefined)]);
    await Promise.all([events.flush(), tracer.close()]);
    leaving.abort();
    await presence.done;
    await Promise.all([operated?.server.close(), world.close()]);
  };
}

/**
 * As in a gateway, loops get stores that also write down what a settlement or a loss ends with it: whoever finds it, the event
 * log hears of it, and with it the metrics, what this process says of itself, and the trace of the rollout.
 */
function portsOf(
  { timings }: ControllerConfig,
  { state, queue, provider, link, tokens, clock, random, events, tracer }: OpenWorld,
  prometheus: Prometheus,
  verdicts: RecentVerdicts,
  log: Log,
): ControllerPorts {
  const tellSpan = verdictSpans(tracer);
  const record = (event: FleetEvent) => {
    events.append(event);
    prometheus.told(event);
    verdicts.told(event);
    tellSpan(event);
  };
  const told = { ...state, clock, random, record };
  return {
    ...told,
    calls: recordTaints(state.calls, told),
    lifecycle: recordEnds(tracedLifecycle(state.lifecycle, tracer), told),
    recovery: recordRecovery(state.recovery, told),
    queue,
    provider,
    link,
    tokens,
    tracer,
    timings,
    metrics: prometheus.metrics,
    log,
  };
}

function missingTimings(timings: FleetTimings): readonly string[] {
  const reason = timings.reason();
  return reason === null ? [] : [`timings: ${reason}`];
}

/** What operators ask, and gateways: this process' own log. Null where the configuration names no address for it. */
async function operate(
  { listen, advertisedHost }: ControllerConfig,
  { catalog, clock, events, queue, state, tokens }: OpenWorld,
  missing: () => readonly string[],
  prometheus: Prometheus,
): Promise<{ readonly server: OperationsServer; readonly address: string } | null> {
  if (listen === null) return null;
  const own = new OwnEvents({ log: events, clock });
  // Known once it listens; whoever asks before is told to ask again.
  let address: string | null = null;
  const render = async () => {
    prometheus.fleetState.seen(await lookAtState(state, clock));
    prometheus.sandboxCost(await soonOrNull(state.reports.cost(), clock));
    prometheus.launchQueue(await soonOrNull(queue.counts(), clock));
    prometheus.environments(catalog.inForce());
    return prometheus.render();
  };
  const server = await serveOperations({
    listen,
    missing,
    fleetState: () => state.health(),
    environments: () => catalog.inForce(),
    answerPeer: (target, authorization) =>
      address === null ? null : answerPeer({ own, address, tokens }, target, authorization),
    clock,
    metrics: { render, contentType: prometheus.contentType },
  });
  address = ownAddress({ host: listen.host, port: server.port }, advertisedHost);
  return { server, address };
}

/** Follows the folder and the other processes until the signal aborts; what fails is tried again by the next step. */
function keepAgreeing(
  { catalog, clock }: OpenWorld,
  changed: () => void,
  log: Log,
  signal: AbortSignal,
): Loop {
  const onError = (thrown: unknown) =>
    log.debug('the environments could not be agreed on', errorFields(thrown));
  return every({ intervalMs: agreeMs, clock, signal, onError }, async () => {
    const before = catalog.all();
    await catalog.step().finally(() => {
      if (catalog.all() !== before) changed();
    });
  });
}
