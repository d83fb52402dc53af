import type { FastifyReply, FastifyRequest } from 'fastify';
import { isFailure } from '#src/failure/codes.ts';
import type { Failure } from '#src/failure/failure.ts';
import type { GatewayGauges, GatewayMetrics } from '#src/ports/gateway-metrics.ts';
import type { EnvironmentsInForce } from '#src/ports/fleet/registry.ts';
import type { StateHealth } from '#src/ports/fleet/server.ts';
import type { Timings } from '#src/model/timings.ts';
import type { Log } from '#src/ports/log.ts';
import { fleetEventsPath } from '#src/protocol/fleet/events.ts';
import type { DescribedRoute, RouteSchema } from '#src/protocol/openapi/document.ts';
import type { GatewayCore } from './core-interface.ts';
import type { E2bParts } from './e2b/parts.ts';
import { e2bRoutes } from './e2b/routes.ts';
import type { FailureListener } from './http/answer-failure.ts';
import { type App, createApp, newRequestState } from './http/app.ts';
import { type GateState, HoldGate, type HoldLimits } from './http/hold-gate.ts';
import { createRequireScope, type RequireScope, grantOf, type Authentication } from './http/identify.ts';
import { acceptJsonBodies, type JsonLimits } from './http/json-bodies.ts';
import { createLeave, type Leave } from './http/leave.ts';
import { openOuterDoor, type OuterDoor, type OuterDoorSettings } from './http/outer-door.ts';
import { callRoutes } from './native/call-routes.ts';
import { controlRoutes } from './native/control-routes.ts';
import { environmentRoutes } from './native/environment-routes.ts';
import { type EventRoutesDeps, eventRoutes, peerRoute } from './native/event-routes.ts';
import { fileRoutes } from './native/file-routes.ts';
import { type FleetRoutesDeps, fleetRoutes } from './native/fleet-routes.ts';
import { keyRoute } from './native/key-route.ts';
import { prewarmRoutes, rolloutRoutes } from './native/rollout-routes.ts';
import { type RunRoutesDeps, runRoutes } from './native/run-routes.ts';
import { streamRoutes } from './native/stream-routes.ts';
import { terminalRoutes } from './native/terminal-routes.ts';
import { type LoopLag, measureLoopLag, type Need, operationRoutes, type Operations } from './operations.ts';
import { rftRoutes } from './rft/routes.ts';

export type GatewayParts = {
  readonly core: GatewayCore;
  readonly runs: RunRoutesDeps;
  readonly fleet: FleetRoutesDeps;
  readonly events: EventRoutesDeps;
  readonly e2b: Pick<E2bParts, 'aliases' | 'rows' | 'requests' | 'tokens' | 'random'>;
  readonly authentication: Authentication;
  readonly fileBytes: number;
  readonly needs: readonly Need[];
  readonly fleetState: () => Promise<StateHealth>;
  readonly environments: () => EnvironmentsInForce;
  /** What this host cannot enforce, in sentences; null where the gateway cannot know. */
  readonly limitations: () => Promise<readonly string[] | null>;
  readonly data: Operations['data'];
  readonly metrics: GatewayMetrics;
  /** All metrics as Prometheus text, with what the gate holds now. */
  readonly renderMetrics: (gauges: GatewayGauges) => Promise<string>;
  readonly log: Log;
  readonly timings: Timings;
  readonly holdLimits: HoldLimits;
};

export type GatewayServer = {
  /** Resolves to the URL it listens at; port 0 takes a free one. */
  listen(host: string, port: number): Promise<string>;
  /** Listens for callers beyond this machine too; see {@link openOuterDoor}. Resolves to the URL. */
  listenBeyond(settings: OuterDoorSettings): Promise<string>;
  /** What the gate holds, and whether others are to be asked. */
  readonly held: () => { readonly requests: number; readonly state: GateState };
  /** Resolves when everybody was answered; those whom the grace leaves over, with having been cut off. */
  readonly stop: Leave;
};

/** The three faces and the operators' addresses over one gateway core: which addresses there are, and what stands before each. */
export function createGatewayServer(parts: GatewayParts): GatewayServer {
  const { clock } = parts.authentication;
  const gate = new HoldGate(parts.holdLimits, () => clock.monotonicMs());
  const lag = measureLoopLag();
  const app = createApp(gate, parts.timings, {
    onFailure: listenerOf(parts.log, parts.metrics),
    onAnswer: (answered) => parts.metrics.answered(answered),
  });
  const routes = listRoutes(app);
  void app.register(async (faces) => addFaces(faces, parts, gate));
  peerRoute(app, parts.events, parts.authentication);
  operationRoutes(app, {
    gate,
    routes,
    clock: parts.authentication.clock,
    needs: parts.needs,
    fleetState: parts.fleetState,
    environments: parts.environments,
    limitations: parts.limitations,
    data: parts.data,
    renderMetrics: () => parts.renderMetrics(gaugesOf(gate, lag)),
  });

  const leave = createLeave(app, gate, parts.authentication.clock);
  const stop: Leave = async (leaving) => {
    await leave(leaving);
    lag.stop();
  };
  const held = () => ({ requests: gate.requests, state: gate.state });
  const outerDoors: OuterDoor[] = [];
  app.addHook('preClose', async () => outerDoors.forEach((door) => door.close()));
  const listenBeyond = async (settings: OuterDoorSettings) => {
    const door = await openOuterDoor(app.server, settings);
    outerDoors.push(door);
    return door.url;
  };
  return { listen: (host, port) => app.listen({ host, port }), listenBeyond, held, stop };
}

/**
 * One megabyte is the platforms' own bound; a little more, so that a body at the bound passes with its wrapping. What
 * is read and thrown away of a larger one keeps the connection whole for the answer.
 */
const jsonLimits: JsonLimits = { maxBytes: 1024 * 1024 + 64 * 1024, drainBytes: 64 * 1024 * 1024 };

/**
 * All faces. The key of a request is checked first, so a request without one holds no place. Then the hold gate takes it in, by its
 * tenant, and only then its body is read.
 */
async function addFaces(app: App, parts: GatewayParts, gate: HoldGate): Promise<void> {
  const requireScope = createRequireScope(parts.authentication);
  app.addHook('onRequest', (request, _reply, done) => {
    request.state = newRequestState();
    gate.requireOpen();
    done();
  });
  app.addHook('preParsing', (request, reply, _payload, done) => {
    const { state } = request;
    if (state !== null)
      state.hold = gate.enter(grantOf(request).tenant, (failure) => {
        if (failure.code === 'gateway_overloaded') parts.metrics.bodyDropped();
        cutOff(request, reply, failure);
      });
    done();
  });
  acceptJsonBodies(app, jsonLimits);
  await app.register(async (rft) => rftRoutes(rft, parts.core, requireScope, parts.timings), {
    prefix: '/rft',
  });
  await app.register(async (e2b) => e2bRoutes(e2b, e2bPartsOf(parts), parts.authentication), {
    prefix: '/e2b',
  });
  await app.register(
    async (native) => {
      native.addHook('onRequest', requireNative(requireScope));
      rolloutRoutes(native, parts.core);
      prewarmRoutes(native, parts.core);
      callRoutes(native, parts.core);
      terminalRoutes(native, parts.core);
      controlRoutes(native, parts.core);
      runRoutes(native, parts.runs);
      eventRoutes(native, parts.events);
      environmentRoutes(native, parts.core);
      keyRoute(native);
      await native.register(async (files) => fileRoutes(files, parts.core, parts.fileBytes));
      const onFailure = listenerOf(parts.log, parts.metrics);
      const { clock } = parts.authentication;
      await native.register(async (streams) => streamRoutes(streams, { core: parts.core, clock, onFailure }));
    },
    { prefix: '/v1' },
  );
  await app.register(
    async (watchers) => {
      // Whoever only watches needs no right to do anything.
      watchers.addHook('onRequest', requireScope('native', 'watch', 'fleet'));
      fleetRoutes(watchers, parts.fleet);
    },
    { prefix: '/v1' },
  );
}

/** A route that does not say that it only reads is closed to keys that only watch. */
function requireNative(requireScope: RequireScope): ReturnType<RequireScope> {
  const [plays, reads] = [requireScope('native'), requireScope('native', 'watch')];
  return (request) => (request.routeOptions.config.onlyReads === true ? reads : plays)(request);
}

/** Answers a held request at once. The rest of an incomplete body is not read. A stream that has begun can only break off. */
function cutOff(request: FastifyRequest, reply: FastifyReply, failure: Failure): void {
  if (reply.raw.headersSent) return void reply.raw.destroy();
  reply.raw.once('close', () => request.raw.destroy());
  request.state?.inHand?.failed(failure);
  void reply.header('connection', 'close').send(failure);
  if (request.state !== null) request.state.cutOff = true;
}

const e2bPartsOf = (parts: GatewayParts): E2bParts => ({
  ...parts.e2b,
  core: parts.core,
  reports: parts.runs.reports,
  clock: parts.authentication.clock,
  fileBytes: parts.fileBytes,
  lineMs: parts.timings.e2bLineMs,
  onFailure: listenerOf(parts.log, parts.metrics),
});

/** Lists what all faces offer, as it is registered. Call before {@link addFaces}. Throws if a route lacks what describes it. */
function listRoutes(app: App): readonly DescribedRoute[] {
  const routes: DescribedRoute[] = [];
  app.addHook('onRoute', ({ method, url, schema }) => {
    // Processes of the fleet ask there, and no client. The wildcards of E2B only refuse.
    if (url === fleetEventsPath || /^\/e2b(?:\/runs\/:run)?\/\*$/.test(url)) return;
    const described: RouteSchema = schema ?? {};
    if (described.operationId === undefined)
      throw new Error(`${url} has no operationId: add one to its schema, and a summary`);
    const methods = [method].flat().filter((name) => name !== 'HEAD');
    routes.push(...methods.map((name) => ({ method: name, path: url, schema: described })));
  });
  return routes;
}

function gaugesOf(gate: HoldGate, lag: LoopLag): GatewayGauges {
  return {
    heldRequests: gate.requests,
    heldRequestsLimit: gate.requestsLimit,
    heldBodyBytes: gate.bodyBytes,
    loopLag: lag.read(),
  };
}

/** The caller's mistakes are counted; only what is ours is told to the operator. */
function listenerOf(log: Log, metrics: GatewayMetrics): FailureListener {
  return (face, { failure, rollout, call }) => {
    metrics.failed(face, failure.code);
    if (failure.blame !== 'infrastructure' || !isFailure(failure.code)) return;
    const level = failure.code === 'unclassified' ? 'error' : 'warn';
    log[level](failure.message, { face, code: failure.code, rollout, call });
  };
}
