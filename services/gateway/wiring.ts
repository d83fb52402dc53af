import { errorFields } from '../../src/platform/logging.ts';
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
  /** Finishes what is held, settles what runs, and lets go of everything. */
  stop(): Promise<void>;
};

/** Everything a gateway process is made of, not yet listening. */
export async function wireGateway(config: GatewayConfig, log: Log): Promise<Gateway> {
  const keyRing = await openKeyRing(config.keysFile, config.developmentKey !== null);
  const world = await openWorld(config, log);
  const wired = wireCore(config, world, log);
  const server = wireServer(config, world, wired, keyRing, log);
  const stopping = new AbortController();
  const keyWatch = watchKeys(keyRing, world.clock, log, stopping.signal);
  return {
    start: () => server.listen(config.host, config.port),
    stop: async () => {
      await server.stop(config.shutdownGraceMs);
      stopping.abort();
      await Promise.all([keyWatch.done, wired.close()]);
      await world.close();
    },
  };
}

function wireCore(config: GatewayConfig, world: OpenWorld, log: Log): WiredCore {
  return createGatewayCore({
    ...world,
    ...world.state,
    published: world.state.environments,
    secret: (name) => config.secrets.get(name),
    record: (event) => world.events.append(event),
    onTrouble: (error) => log.debug('trouble that the next try mends', errorFields(error)),
  });
}

function wireServer(
  config: GatewayConfig,
  world: OpenWorld,
  wired: WiredCore,
  keyRing: KeyRing,
  log: Log,
): GatewayServer {
  return createGatewayServer({
    core: wired.core,
    desk: world.state,
    doors: { keyRing, developmentKey: config.developmentKey, clock: world.clock },
    needs: [{ name: 'redis', check: () => world.state.ping().then(() => null) }],
    limitations: () => world.node?.limitations() ?? Promise.resolve(null),
    renderMetrics: () => Promise.resolve(renderLoad(wired.load())),
    log,
    fileBytes: config.maxFileBytes,
    holdLimits: { requests: config.maxHeldRequests, bodyBytes: config.maxHeldBodyBytes },
  });
}

/** Work that goes on behind the faces, also when its requests have ended. */
function renderLoad(load: ReturnType<WiredCore['load']>): string {
  const name = 'corral_gateway_under_way';
  const lines = Object.entries(load).map(([kind, count]) => `${name}{kind="${kind}"} ${count}`);
  const head = [`# HELP ${name} Rollouts in line, calls and grades.`, `# TYPE ${name} gauge`];
  return [...head, ...lines, ''].join('\n');
}
