import { DeedLedger, ledgerMs } from '#src/access/deed-ledger.ts';
import type { KeyRing } from '#src/access/key-file.ts';
import {
  createGatewayPrometheus,
  type GatewayPrometheus,
} from '#src/adapters/prometheus/gateway-prometheus.ts';
import { createDependencyProbe } from '#src/adapters/dependency-probe/probe.ts';
import { agreeMs } from '#src/environments/agreed-environments.ts';
import type { RequestsInHand } from '#src/lifecycle/requests-in-hand.ts';
import { every } from '#src/platform/every.ts';
import { errorFields } from '#src/platform/logging.ts';
import { ownAddress, ownHost, tellKeeper, thisProcess } from '#src/platform/this-process.ts';
import { lookAtState, soonOrNull } from '#src/platform/state-health.ts';
import type { FleetEvent } from '#src/ports/event-log.ts';
import type { Log } from '#src/ports/log.ts';
import { FleetEvents } from '#src/reports/fleet-events.ts';
import { answerPeer, OwnEvents } from '#src/reports/own-events.ts';
import { verdictSpans } from '#src/tracing/verdict-spans.ts';
import { watchFleet } from '#src/watching/fleet-sight.ts';
import { FleetTimings } from '#src/watching/fleet-timings.ts';
import { type PresenceOptions, type Present, tellPresence, RecentVerdicts } from '#src/watching/presence.ts';
import type { GatewayConfig } from './config.ts';
import { createGatewayCore, type GatewayWorld, type WiredCore } from './core-wiring.ts';
import { openKeyRing, watchKeys } from './key-watch.ts';
import { wirePeers } from './peers-wiring.ts';
import type { EventRoutesDeps } from './native/event-routes.ts';
import { createGatewayServer, type GatewayServer } from './server.ts';
import { createTracing } from './traced.ts';
import { openWorld, type OpenWorld } from './world-wiring.ts';

/*
 * What a gateway process consists of, who gets what of it, and in which order it begins and ends. Each part is told in
 * full by the file in brackets.
 *
 *   what callers reach   server: all faces and the operators' addresses            (server.ts)
 *                          │
 *   what answers         core: calls, grades and rollouts, with spans at its edges (core-wiring.ts, core-methods.ts, traced.ts)
 *                          │
 *   what it stands on    world: fleet state, sandboxes, judge, log, environments   (world-wiring.ts)
 *
 * Beside them: the ledger, through which all events pass, and a few loops. It is made from the bottom up and ends from
 * the top down: the server answers whom it holds, the core settles what runs, and then the world is let go of.
 */

export type Gateway = {
  /** Resolves to the URL it listens at. */
  start(): Promise<string>;
  /** Leaves, finishes what is held, settles what runs, and lets go of everything; once hurried, as little of it as may be. */
  stop(hurry: AbortSignal): Promise<void>;
};

/** A call that outlasts the grace is settled by whoever repeats it, or by a controller. */
const settlingMs = 5_000;

/** Everything a gateway process is made of, not yet listening. */
export async function wireGateway(config: GatewayConfig, log: Log): Promise<Gateway> {
  const keyRing = await openKeyRing(config.keysFile, config.developmentKey !== null);
  // The world is counted from its first command on, and only later says which environments there are.
  let opened: OpenWorld | null = null;
  const prometheus = createGatewayPrometheus({
    version: thisProcess.version,
    environments: () => opened?.catalog.all().map(({ name }) => name) ?? [],
  });
  const world = await openWorld(config, log, prometheus);
  opened = world;
  const { clock, catalog } = world;
  const fixed = (error: unknown) => log.debug('trouble that the next try fixes', errorFields(error));
  const verdicts = new RecentVerdicts(clock);
  const ledger = openLedger(world, prometheus, verdicts);
  const { record } = ledger;
  const events = wireEvents(world, config);
  const wired = wireCore(config, world, { record, work: prometheus.work, onTrouble: fixed });
  const peers = wirePeers(world, { record, log, onError: fixed });
  const timings = new FleetTimings(config, log);
  const own = { requests: peers.requests, keyRing, prometheus, record, events: events.deps, timings, log };
  const server = wireServer(config, world, wired, own);

  const stopping = new AbortController();
  const { signal } = stopping;
  const loop = { clock, signal, onError: fixed };
  const loops: { readonly done: Promise<void> }[] = [
    watchKeys(keyRing, { clock, log, signal, record }),
    // Counts what of each minute was not told.
    every({ intervalMs: ledgerMs, clock, signal, onError: () => undefined }, async () => ledger.turn()),
    world.tokens.watch({ clock, log, signal }),
  ];
  const presence: PresenceOptions = {
    watch: world.state.watch,
    self: { kind: 'gateway', isListed: true, ...thisProcess },
    process: world.processName,
    present: () => presentOf(config, server, wired, verdicts),
    timings,
    ...loop,
  };
  return {
    start: async () => {
      const present = tellPresence(presence);
      loops.push(present);
      // So that it is ready from its first answer on.
      await present.first;
      const url = await server.listen(config.host, config.port);
      peers.begin();
      if (config.outerDoor !== null) await server.listenBeyond(config.outerDoor);
      loops.push(
        events.tellKeeper(url, loop),
        every({ intervalMs: agreeMs, ...loop }, () => catalog.step()),
      );
      return url;
    },
    stop: async (hurry) => {
      // Not awaited: what it holds must be answered, whether or not fleet state is there.
      const left = catalog.leave().catch(fixed);
      peers.leave();
      const { drainDelayMs, shutdownGraceMs: graceMs } = config;
      await server.stop({ drainDelayMs, graceMs, hurry, lastWord: () => peers.end().catch(fixed) });
      stopping.abort();
      const ends = [left, wired.close(), ...loops.map(({ done }) => done)];
      const settled = Promise.all(ends).then(() => true);
      const late = clock.sleep(settlingMs, hurry).then(() => false);
      const isSettled = await Promise.race([settled, late]);
      ledger.turn();
      // What still runs is left as by a gateway that died: closing its connections would only look like a failure of theirs.
      await (isSettled ? world.close() : Promise.all([world.events.flush(), world.tracer.close()]));
    },
  };
}

/** Who hears of every event: the log, the metrics, what this process says of itself, and the trace of the rollout. */
function openLedger(world: OpenWorld, prometheus: GatewayPrometheus, verdicts: RecentVerdicts): DeedLedger {
  const tellSpan = verdictSpans(world.tracer);
  const tell = (event: FleetEvent) => {
    world.events.append(event);
    prometheus.told(event);
    verdicts.told(event);
    tellSpan(event);
  };
  return new DeedLedger(tell, world.clock);
}

type LoopOptions = Pick<Parameters<typeof tellKeeper>[0], 'clock' | 'signal' | 'onError'>;

/** This gateway's own log, and those of the other processes, as one. Others may ask for it once it is told where. */
function wireEvents({ clock, tokens, peers, logId, state, events }: OpenWorld, config: GatewayConfig) {
  const keepers = state.eventKeepers;
  const own = new OwnEvents({ log: events, clock });
  const self = { name: `gateway ${ownHost}`, log: logId };
  const all = new FleetEvents({ self, own, keepers, ask: peers.ask, clock });
  let address = '';
  const deps: EventRoutesDeps = {
    tell: (wanted, log) => all.tell(wanted, log),
    answerPeer: (target, authorization) => answerPeer({ own, address, tokens }, target, authorization),
  };
  return {
    deps,
    tellKeeper: (url: string, loop: LoopOptions) => {
      address = ownAddress({ host: config.host, port: Number(new URL(url).port) }, config.advertisedHost);
      const keeper = { component: 'gateway', address, keeps: config.eventLog.folder !== null } as const;
      return tellKeeper({ keepers, log: logId, keeper, ...loop });
    },
  };
}

/** Spans are told from the core's two edges: what it asks of the world, and what is asked of it. */
function wireCore(
  config: GatewayConfig,
  { state, link, judge, catalog, clock, random, tracer, keep, keepText }: OpenWorld,
  told: Pick<GatewayWorld, 'record' | 'work' | 'onTrouble'>,
): WiredCore {
  const tracing = createTracing(tracer);
  const world = tracing.world({
    claims: state.claims,
    calls: state.calls,
    lifecycle: state.lifecycle,
    setups: state.setups,
    grades: state.grades,
    controls: state.controls,
    guards: state.guards,
    dependencies: state.dependencies,
    recovery: state.recovery,
    pool: state.pool,
    published: state.environments,
    link,
    judge,
    probe: createDependencyProbe(clock),
    catalog,
    clock,
    random,
    timings: config.timings,
    secret: (name) => config.secrets.get(name),
    work: told.work,
    record: told.record,
    onTrouble: told.onTrouble,
    keep,
    keepText,
  });
  const wired = createGatewayCore(world);
  return { core: tracing.core(wired.core), load: wired.load, close: wired.close };
}

type ServerOwn = {
  readonly requests: RequestsInHand;
  readonly keyRing: KeyRing;
  readonly prometheus: GatewayPrometheus;
  readonly record: (event: FleetEvent) => void;
  readonly events: EventRoutesDeps;
  readonly timings: Pick<FleetTimings, 'reason'>;
  readonly log: Log;
};

function wireServer(
  config: GatewayConfig,
  { state, board, catalog, clock, keyDoubt, node, tokens, random }: OpenWorld,
  wired: WiredCore,
  { requests, keyRing, prometheus, record, events, timings, log }: ServerOwn,
): GatewayServer {
  const { watch, memory, reports, lifecycle } = state;
  const redis = async () => (await state.health()).server;
  // A list for people is not worth a failed reading.
  const recent: OpenWorld['board']['recent'] = async (most) =>
    (await soonOrNull(board.recent(most), clock)) ?? [];
  const sight = watchFleet({ watch, memory, server: redis, catalog, board: { recent }, clock });
  return createGatewayServer({
    core: wired.core,
    events,
    e2b: { aliases: state.aliases, rows: state.claims, requests, tokens, random },
    runs: { reports, lifecycle, record, clock, random },
    fleet: { fleet: config.fleet, look: () => sight.get() },
    authentication: { keyRing, developmentKey: config.developmentKey, clock, record },
    needs: [
      { name: 'fleet_key', check: () => Promise.resolve(keyDoubt.reason()) },
      { name: 'timings', check: () => Promise.resolve(timings.reason()) },
    ],
    fleetState: () => state.health(),
    environments: () => catalog.inForce(),
    limitations: () => node?.limitations() ?? Promise.resolve(null),
    data: () => node?.data() ?? Promise.resolve(null),
    metrics: prometheus.metrics,
    renderMetrics: async (gauges) => {
      prometheus.fleetState.seen(await lookAtState(state, clock));
      prometheus.environments(catalog.inForce());
      const own = { keyRefusals: keyDoubt.refusals(), keys: keyRing.keys() };
      return prometheus.render({ ...gauges, ...own }, wired.load());
    },
    log,
    timings: config.timings,
    fileBytes: config.maxFileBytes,
    holdLimits: { requests: config.maxHeldRequests, bodyBytes: config.maxHeldBodyBytes },
  });
}

/** What this gateway says of itself beside its name. */
function presentOf(
  { maxHeldRequests }: GatewayConfig,
  server: GatewayServer,
  wired: WiredCore,
  verdicts: RecentVerdicts,
): Present {
  const { requests, state } = server.held();
  const { waiting, calls, grades } = wired.load();
  return {
    state: state === 'open' ? 'serving' : 'leaving',
    inHand: { requests, in_line: waiting, calls, grades },
    atMost: { requests: maxHeldRequests },
    verdicts: verdicts.counts(),
  };
}
