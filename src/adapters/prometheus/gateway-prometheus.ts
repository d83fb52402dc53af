import { failureRow } from '../../failure/codes.ts';
import type { FailureCode } from '../../failure/codes.ts';
import type { Face } from '../../model/face.ts';
import type { FleetEvent } from '../../ports/event-log.ts';
import type { EnvironmentsInForce } from '../../ports/fleet/catalogs.ts';
import type { StateHealth } from '../../ports/fleet/server.ts';
import type { GatewayGauges, GatewayMetrics } from '../../ports/gateway-metrics.ts';
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
  /** Everything in the text format that Prometheus scrapes; `underWay` by kind of work. */
  readonly render: (gauges: AllGauges, underWay: Readonly<Record<string, number>>) => Promise<string>;
};

/** `keyRefusals`: answers of sandboxes that refused this gateway's token, since its start. */
type AllGauges = GatewayGauges & { readonly keyRefusals?: number };

const faces = ['rft', 'native'] as const satisfies readonly Face[];

/** What a gateway counts at its doors, of the events it tells, and has in hand. */
export function createGatewayPrometheus(): GatewayPrometheus {
  const instruments = createInstruments();
  const show = gauges(instruments);
  return {
    metrics: doorMetrics(instruments),
    told: eventMetrics(instruments),
    fleetState: stateMetrics(instruments),
    environments: environmentMetrics(instruments),
    render: (now, underWay) => {
      show(now, underWay);
      return instruments.render();
    },
  };
}

function doorMetrics({ counter }: Instruments): GatewayMetrics {
  const answers = counter('corral_gateway_answers_total', 'Answers by face and status', ['face', 'status']);
  const failed = counter(
    'corral_gateway_failures_total',
    'Requests that failed, by face, blame and code; each unclassified one is a bug of ours',
    ['face', 'blame', 'code'],
  );
  // There from the start, so that an alert on its rise sees the first one rise.
  for (const face of faces) failed.inc(failureLabels(face, 'unclassified'), 0);
  return {
    answered: (face, status) => answers.inc({ face, status }),
    failed: (face, code) => failed.inc(failureLabels(face, code)),
  };
}

const failureLabels = (face: Face, code: FailureCode) => ({ face, blame: failureRow(code).blame, code });

function gauges({ gauge }: Instruments) {
  const requests = gauge('corral_gateway_held_requests', 'Requests in hand');
  const bytes = gauge('corral_gateway_held_body_bytes', 'Bytes of their bodies');
  const underWay = gauge('corral_gateway_under_way', 'Rollouts in line, calls and grades', ['kind']);
  const lag = gauge(
    'corral_gateway_event_loop_lag_seconds',
    'Lateness of the event loop since the last look',
    ['quantile'],
  );
  const keyRefusals = gauge(
    'corral_gateway_key_refusals',
    'Answers of sandboxes that refused this gateway, whose fleet key is wrong, since its start',
  );
  return (now: AllGauges, work: Readonly<Record<string, number>>) => {
    requests.set(now.heldRequests);
    bytes.set(now.heldBodyBytes);
    keyRefusals.set(now.keyRefusals ?? 0);
    for (const [kind, count] of Object.entries(work)) underWay.set({ kind }, count);
    lag.set({ quantile: '0.5' }, now.loopLag.p50Ms / 1000);
    lag.set({ quantile: '0.99' }, now.loopLag.p99Ms / 1000);
    lag.set({ quantile: '1' }, now.loopLag.maxMs / 1000);
  };
}
