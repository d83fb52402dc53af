import type { FleetEvent } from '../../ports/event-log.ts';
import type { EnvironmentsInForce } from '../../ports/fleet/catalogs.ts';
import type { StateHealth } from '../../ports/fleet/server.ts';
import type { GatewayGauges, GatewayMetrics } from '../../ports/gateway-metrics.ts';
import { isFailure } from '../../failure/codes.ts';
import { blamed } from './catalogue/tables.ts';
import { environmentMetrics } from './environment-metrics.ts';
import { eventMetrics } from './event-metrics.ts';
import { createInstruments } from './instruments.ts';
import type { Instruments } from './instruments.ts';
import { stateMetrics } from './state-metrics.ts';

export type GatewayPrometheus = {
  readonly metrics: GatewayMetrics;
  /** Counts what is told to the event log. */
  readonly told: (event: FleetEvent) => void;
  /** Shows what this process sees of fleet state now. */
  readonly fleetState: (health: StateHealth) => void;
  /** Shows by which environments this process goes. */
  readonly environments: (now: EnvironmentsInForce) => void;
  /** Everything in the text format that Prometheus scrapes. */
  readonly render: (gauges: AllGauges, underWay: UnderWay) => Promise<string>;
};

/** `keyRefusals`: answers of sandboxes that refused this gateway's token, since its start. */
type AllGauges = GatewayGauges & { readonly keyRefusals?: number };

type UnderWay = Readonly<Record<'waiting' | 'calls' | 'grades', number>>;

/** What a gateway counts at its doors, of the events it tells, and has in hand. */
export function createGatewayPrometheus(own: {
  readonly version: string;
  /** Names of those in force now. */
  readonly environments: () => readonly string[];
}): GatewayPrometheus {
  const instruments = createInstruments('gateway', own.environments);
  instruments.set('corral_build_info', { component: 'gateway', version: own.version }, 1);
  return {
    metrics: doorMetrics(instruments),
    told: eventMetrics(instruments),
    fleetState: stateMetrics(instruments),
    environments: environmentMetrics(instruments),
    render: (now, underWay) => {
      showInHand(instruments, now, underWay);
      return instruments.render();
    },
  };
}

function doorMetrics({ count, observe }: Instruments): GatewayMetrics {
  return {
    answered: ({ face, status, route, tookMs }) => {
      count('corral_gateway_answers_total', { face, status: String(status) });
      observe('corral_gateway_request_duration_seconds', { face, route: route ?? 'none' }, tookMs);
    },
    failed: (face, code) => {
      if (isFailure(code)) count('corral_gateway_failures_total', { face, ...blamed(code) });
    },
  };
}

function showInHand({ set }: Instruments, now: AllGauges, underWay: UnderWay): void {
  set('corral_gateway_held_requests', {}, now.heldRequests);
  set('corral_gateway_held_requests_limit', {}, now.heldRequestsLimit);
  set('corral_gateway_held_body_bytes', {}, now.heldBodyBytes);
  set('corral_gateway_key_refusals', {}, now.keyRefusals ?? 0);
  for (const [kind, work] of Object.entries(underWay)) set('corral_gateway_under_way', { kind }, work);
  const { p50Ms, p99Ms, maxMs } = now.loopLag;
  for (const [quantile, lagMs] of [['0.5', p50Ms] as const, ['0.99', p99Ms] as const, ['1', maxMs] as const])
    set('corral_gateway_event_loop_lag_seconds', { quantile }, lagMs / 1000);
}
