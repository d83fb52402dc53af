import { DeedLedger, ledgerMs } from '../../src/access/deed-ledger.ts';
import { lookAtState } from '../../src/platform/state-health.ts';
import { createGatewayPrometheus } from '../../src/adapters/prometheus/gateway-prometheus.ts';
import type { GatewayPrometheus } from '../../src/adapters/prometheus/gateway-prometheus.ts';
import { agreeMs } from '../../src/environments/agreed-environments.ts';
import { every } from '../../src/platform/every.ts';
import { thisProcess } from '../../src/platform/this-process.ts';
import type { Loop } from '../../src/platform/every.ts';
import { errorFields } from '../../src/platform/logging.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { FleetEvent } from '../../src/ports/event-log.ts';
import type { Log } from '../../src/ports/log.ts';
import type { WorkMetrics } from '../../src/ports/work-metrics.ts';
import { watchFleet } from '../../src/watching/fleet-sight.ts';
import { tellPresence } from '../../src/watching/presence.ts';
import type { Present } from '../../src/watching/presence.ts';
import { RecentVerdicts } from '../../src/watching/recent-verdicts.ts';
import { verdictSpans } from '../../src/tracing/verdict-spans.ts';
import type { GatewayConfig } from './config.ts';
import { createGatewayCore } from './core-wiring.ts';
import type { WiredCore } from './core-wiring.ts';
import { wireEvents } from './events-wiring.ts';
import { openKeyRing, watchKeys } from './key-watch.ts';
import type { EventDesk } from './native/event-routes.ts';
import { createTracing } from './traced.ts';
import { createGatewayServer } from './server.ts';
import type { GatewayServer } from './server.ts';
import { openWorld } from './world-wiring.ts';
import type { OpenWorld } from './world-wiring.ts';
import type { KeyRing } from '../../src/access/key-ring.ts';

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
  const verdicts = new RecentVerdicts(world.clock);
  const tellSpan = verdictSpans(world.tracer);
  const ledger = new DeedLedger((event) => {
    world.events.append(event);
    prometheus.told(event);
    verdicts.told(event);
    tellSpan(event);
  }, world.clock);
  const { record } = ledger;
  const events = wireEvents(world, config);
  const { work } = prometheus;
  const wired = wireCore(config, world, { record, work, log });
  const server = wireServer(config, world, wired, { keyRing, prometheus, record, events: events.desk, log });
  const stopping = new AbortController();
  const mended = (error: unknown) => log.debug('trouble that the next try mends', errorFields(error));
  const agree = () =>
    every({ intervalMs: agreeMs, clock: world.clock, signal: stopping.signal, onError: mended }, () =>
      world.catalog.step(),
    );
  const presence = () =>
    tellPresence({
      ...world,
      ...world.state,
      self: { kind: 'gateway', ...thisProcess },
      process: world.processName,
      present: () => presentOf(config, server, wired, verdicts),
      onError: mended,
      signal: stopping.signal,
    });
  const watches: { readonly done: Promise<void> }[] = [
    watchKeys(keyRing, { clock: world.clock, log, signal: stopping.signal, record }),
    turnPages(ledger, world.clock, stopping.signal),
    world.tokens.watch({ clock: world.clock, log, signal: stopping.signal }),
  ];
  return {
    start: async () => {
      const url = await server.listen(config.host, config.port);
      const told = events.begin(url, { signal: stopping.signal, onError: mended });
      watches.push(agree(), { done: presence() }, told);
      return url;
    },
    stop: async (hurry) => {
      // Not awaited: what it holds must be answered, whether or not fleet state is there.
      const left = world.catalog.leave().catch(mended);
      const { drainDelayMs, shutdownGraceMs: graceMs } = config;
      await server.stop({ drainDelayMs, graceMs, hurry });
      stopping.abort();
      const ends = [left, wired.close(), ...watches.map(({ done }) => done)];
      const settled = Promise.all(ends).then(() => true);
      const late = world.clock.sleep(settlingMs, hurry).then(() => false);
      const isSettled = await Promise.race([settled, late]);
      ledger.turn();
      // What still runs is left as by a gateway that died: closing its connections would only look like a failure of theirs.
      await (isSettled ? world.close() : Promise.all([world.events.flush(), world.tracer.close()]));
    },
  };
}

/** What this gateway says of itself beside its name. */
function presentOf(
  { maxHeldRequests }: GatewayConfig,
  server: GatewayServer,
  wired: WiredCore,
  verdicts: RecentVerdicts,
): Present {
  const { requests, state } = server.doors();
  const { waiting, calls, grades } = wired.load();
  return {
    state: state === 'open' ? 'serving' : 'leaving',
    inHand: { requests, in_line: waiting, calls, grades },
    atMost: { requests: maxHeldRequests },
    verdicts: verdicts.counts(),
  };
}

/** Counts what of each minute was not told. */
const turnPages = (ledger: DeedLedger, clock: Clock, signal: AbortSignal): Loop =>
  every({ intervalMs: ledgerMs, clock, signal, onError: () => undefined }, async () => ledger.turn());

function wireCore(
  config: GatewayConfig,
  world: OpenWorld,
  {
    log,
    ...own
  }: { readonly record: (event: FleetEvent) => void; readonly work: WorkMetrics; readonly log: Log },
): WiredCore {
  const tracing = createTracing(world.tracer);
  const wired = createGatewayCore(
    tracing.world({
      ...world,
      ...world.state,
      ...own,
      published: world.state.environments,
      secret: (name) => config.secrets.get(name),
      onTrouble: (error) => log.debug('trouble that the next try mends', errorFields(error)),
    }),
  );
  return { ...wired, core: tracing.core(wired.core) };
}

function wireServer(
  config: GatewayConfig,
  world: OpenWorld,
  wired: WiredCore,
  own: {
    readonly keyRing: KeyRing;
    readonly prometheus: GatewayPrometheus;
    readonly record: (event: FleetEvent) => void;
    readonly events: EventDesk;
    readonly log: Log;
  },
): GatewayServer {
  const { keyRing, prometheus, record, events, log } = own;
  const server = async () => (await world.state.health()).server;
  const sight = watchFleet({ ...world, ...world.state, server });
  return createGatewayServer({
    core: wired.core,
    events,
    desk: { ...world.state, record, clock: world.clock },
    fleet: { fleet: config.fleet, look: () => sight.get() },
    doors: { keyRing, developmentKey: config.developmentKey, clock: world.clock, record },
    needs: [{ name: 'fleet_key', check: () => Promise.resolve(world.keyDoubt.reason()) }],
    fleetState: () => world.state.health(),
    environments: () => world.catalog.inForce(),
    limitations: () => world.node?.limitations() ?? Promise.resolve(null),
    metrics: prometheus.metrics,
    renderMetrics: async (gauges) => {
      prometheus.fleetState.seen(await lookAtState(world.state, world.clock));
      prometheus.environments(world.catalog.inForce());
      const own = { keyRefusals: world.keyDoubt.refusals(), keys: keyRing.keys() };
      return prometheus.render({ ...gauges, ...own }, wired.load());
    },
    log,
    fileBytes: config.maxFileBytes,
    holdLimits: { requests: config.maxHeldRequests, bodyBytes: config.maxHeldBodyBytes },
  });
}
