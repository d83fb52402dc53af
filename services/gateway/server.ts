import type { FailureListener } from './http/answer-failure.ts';
import { createApp } from './http/create-app.ts';
import { HoldGate } from './http/hold-gate.ts';
import type { GateState, HoldLimits } from './http/hold-gate.ts';
import { createLeave } from './http/leave.ts';
import type { Leave } from './http/leave.ts';
import { isFailure } from '../../src/failure/codes.ts';
import { addFaces, listNativeRoutes } from './faces.ts';
import type { FaceParts } from './faces.ts';
import { peerRoute } from './native/event-routes.ts';
import { measureLoopLag } from './operations/loop-lag.ts';
import type { LoopLag } from './operations/loop-lag.ts';
import type { Need } from './operations/readiness.ts';
import { operationRoutes } from './operations/routes.ts';
import type { GatewayGauges, GatewayMetrics } from '../../src/ports/gateway-metrics.ts';
import type { EnvironmentsInForce } from '../../src/ports/fleet/catalogs.ts';
import type { StateHealth } from '../../src/ports/fleet/server.ts';
import type { Log } from '../../src/ports/log.ts';

export type GatewayParts = FaceParts & {
  readonly needs: readonly Need[];
  readonly fleetState: () => Promise<StateHealth>;
  readonly environments: () => EnvironmentsInForce;
  /** What this host cannot enforce, in sentences; null where the gateway cannot know. */
  readonly limitations: () => Promise<readonly string[] | null>;
  readonly metrics: GatewayMetrics;
  /** All metrics as Prometheus text, with what the doors hold now. */
  readonly renderMetrics: (gauges: GatewayGauges) => Promise<string>;
  readonly log: Log;
  readonly holdLimits: HoldLimits;
};

export type GatewayServer = {
  /** Resolves to the URL it listens at; port 0 takes a free one. */
  listen(host: string, port: number): Promise<string>;
  /** What the doors hold, and whether others are to be asked. */
  readonly doors: () => { readonly requests: number; readonly state: GateState };
  /** Resolves when everybody was answered; those whom the grace leaves over, with having been cut off. */
  readonly stop: Leave;
};

/** Both faces and the operators' addresses over one gateway core. */
export function createGatewayServer(parts: GatewayParts): GatewayServer {
  const gate = new HoldGate(parts.holdLimits);
  const lag = measureLoopLag();
  const app = createApp(gate, {
    onFailure: listenerOf(parts.log, parts.metrics),
    onAnswer: (answered) => parts.metrics.answered(answered),
  });
  const routes = listNativeRoutes(app);
  void app.register(async (faces) => addFaces(faces, parts, gate));
  peerRoute(app, parts.events, parts.doors);
  operationRoutes(app, {
    gate,
    routes,
    clock: parts.doors.clock,
    needs: parts.needs,
    fleetState: parts.fleetState,
    environments: parts.environments,
    limitations: parts.limitations,
    renderMetrics: () => parts.renderMetrics(gaugesOf(gate, lag)),
  });

  const leave = createLeave(app, gate, parts.doors.clock);
  const stop: Leave = async (leaving) => {
    await leave(leaving);
    lag.stop();
  };
  const doors = () => ({ requests: gate.requests, state: gate.state });
  return { listen: (host, port) => app.listen({ host, port }), doors, stop };
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
