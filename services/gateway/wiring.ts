import { lookAtState } from '../../src/platform/state-health.ts';
import { createGatewayPrometheus } from '../../src/adapters/prometheus/gateway-prometheus.ts';
import type { GatewayPrometheus } from '../../src/adapters/prometheus/gateway-prometheus.ts';
import { agreeMs } from '../../src/environments/agreed-environments.ts';
import { every } from '../../src/platform/every.ts';
import { errorFields } from '../../src/platform/logging.ts';
import { version } from '../../src/platform/version.ts';
import type { Log } from '../../src/ports/log.ts';
import type { GatewayConfig } from './config.ts';
import { createGatewayCore } from './core-wiring.ts';
import type { WiredCore } from './core-wiring.ts';
import { openKeyRing, watchKeys } from './key-watch.ts';
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
    version,
    environments: () => opened?.catalog.all().map(({ name }) => name) ?? [],
  });
  const world = await openWorld(config, log, prometheus);
  opened = world;
  const wired = wireCore(config, world, prometheus, log);
  const server = wireServer(config, world, wired, { keyRing, prometheus, log });
  const stopping = new AbortController();
  const mended = (error: unknown) => log.debug('trouble that the next try mends', errorFields(error));
  const agree = () =>
    every({ intervalMs: agreeMs, clock: world.clock, signal: stopping.signal, onError: mended }, () =>
      world.catalog.step(),
    );
  const watches = [
    watchKeys(keyRing, world.clock, log, stopping.signal),
    world.tokens.watch({ clock: world.clock, log, signal: stopping.signal }),
  ];
  return {
    start: async () => {
      const url = await server.listen(config.host, config.port);
      watches.push(agree());
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
      // What still runs is left as by a gateway that died: closing its connections would only look like a failure of theirs.
      await (isSettled ? world.close() : world.events.flush());
    },
  };
}

function wireCore(
  config: GatewayConfig,
  world: OpenWorld,
  prometheus: GatewayPrometheus,
  log: Log,
): WiredCore {
  return createGatewayCore({
    ...world,
    ...world.state,
    published: world.state.environments,
    work: prometheus.work,
    secret: (name) => config.secrets.get(name),
    record: (event) => {
      world.events.append(event);
      prometheus.told(event);
    },
    onTrouble: (error) => log.debug('trouble that the next try mends', errorFields(error)),
  });
}

function wireServer(
  config: GatewayConfig,
  world: OpenWorld,
  wired: WiredCore,
  own: { readonly keyRing: KeyRing; readonly prometheus: GatewayPrometheus; readonly log: Log },
): GatewayServer {
  const { keyRing, prometheus, log } = own;
  return createGatewayServer({
    core: wired.core,
    desk: world.state,
    doors: { keyRing, developmentKey: config.developmentKey, clock: world.clock },
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
