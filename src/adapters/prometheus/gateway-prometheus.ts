import { isFailure } from '#src/failure/codes.ts';
import type { FleetEvent } from '#src/ports/event-log.ts';
import type { EnvironmentsInForce } from '#src/ports/fleet/registry.ts';
import type { GatewayGauges, GatewayMetrics, WorkMetrics } from '#src/ports/gateway-metrics.ts';
import { mostKeys } from './catalogue/gateway.ts';
import { blamed } from './catalogue/tables.ts';
import { createInstruments, type Instruments } from './instruments.ts';
import {
  environmentMetrics,
  eventMetrics,
  type LogMetrics,
  logMetrics,
  stateMetrics,
  type StateMetrics,
} from './shared-metrics.ts';

export type GatewayPrometheus = {
  readonly metrics: GatewayMetrics;
  readonly work: WorkMetrics;
  /** Counts what is told to the event log. */
  readonly told: (event: FleetEvent) => void;
  readonly fleetState: StateMetrics;
  /** Counts lines that the event log dropped. */
  readonly eventsDropped: (lines: number) => void;
  readonly logs: LogMetrics;
  /** Shows by which environments this process goes. */
  readonly environments: (now: EnvironmentsInForce) => void;
  /** Everything in the text format that Prometheus scrapes. */
  readonly render: (gauges: AllGauges, underWay: UnderWay) => Promise<string>;
};

type AllGauges = GatewayGauges & {
  /** Answers of sandboxes that refused this gateway's token, since its start. */
  readonly keyRefusals: number;
  readonly keys: readonly KeyExpiry[];
};

/** An API key by its id, and when it ends, since 1970; null: never. */
type KeyExpiry = { readonly id: string; readonly expiresAtMs: number | null };

type UnderWay = Readonly<Record<'waiting' | 'calls' | 'grades', number>>;

/** What a gateway counts of its requests, of the events it tells, and has in hand. */
export function createGatewayPrometheus(own: {
  readonly version: string;
  /** Names of those in force now. */
  readonly environments: () => readonly string[];
}): GatewayPrometheus {
  const instruments = createInstruments('gateway', own.environments);
  instruments.set('corral_build_info', { component: 'gateway', version: own.version }, 1);
  return {
    metrics: requestMetrics(instruments),
    work: workMetrics(instruments),
    told: eventMetrics(instruments),
    fleetState: stateMetrics(instruments),
    logs: logMetrics(instruments),
    eventsDropped: (lines) => instruments.count('corral_events_dropped_total', {}, lines),
    environments: environmentMetrics(instruments),
    render: (now, underWay) => {
      showInHand(instruments, now, underWay);
      showKeys(instruments, now.keys);
      return instruments.render();
    },
  };
}

function requestMetrics({ count, observe }: Instruments): GatewayMetrics {
  return {
    answered: ({ face, status, route, tookMs }) => {
      count('corral_gateway_answers_total', { face, status: String(status) });
      observe('corral_gateway_request_duration_seconds', { face, route: route ?? 'none' }, tookMs);
    },
    failed: (face, code) => {
      if (isFailure(code)) count('corral_gateway_failures_total', { face, ...blamed(code) });
    },
    bodyDropped: () => count('corral_gateway_slow_bodies_dropped_total', {}),
  };
}

function workMetrics({ count, observe }: Instruments): WorkMetrics {
  return {
    obtained: (environment, launch, tookMs) =>
      observe('corral_obtain_seconds', { environment, launch }, tookMs),
    callAnswered: (environment, { waitedMs, commandMs, overheadMs }) => {
      observe('corral_call_seconds', { environment, part: 'waited' }, waitedMs);
      observe('corral_call_seconds', { environment, part: 'command' }, commandMs);
      observe('corral_call_seconds', { environment, part: 'overhead' }, overheadMs);
    },
    graded: (environment, tookMs) => observe('corral_grade_seconds', { environment }, tookMs),
    judged: (code) => count('corral_judge_requests_total', { code }),
    replayed: (face) => count('corral_replays_total', { face }),
  };
}

/** Those that end first: there are series for so many. */
function showKeys({ show }: Instruments, keys: readonly KeyExpiry[]): void {
  const ending = keys.flatMap(({ id, expiresAtMs }) =>
    expiresAtMs === null ? [] : [{ labels: { key: id }, value: expiresAtMs / 1000 }],
  );
  show(
    'corral_key_expiry_timestamp_seconds',
    ending.toSorted((one, other) => one.value - other.value).slice(0, mostKeys),
  );
}

function showInHand({ set }: Instruments, now: AllGauges, underWay: UnderWay): void {
  set('corral_gateway_held_requests', {}, now.heldRequests);
  set('corral_gateway_held_requests_limit', {}, now.heldRequestsLimit);
  set('corral_gateway_held_body_bytes', {}, now.heldBodyBytes);
  set('corral_gateway_key_refusals', {}, now.keyRefusals);
  for (const [kind, work] of Object.entries(underWay)) set('corral_gateway_under_way', { kind }, work);
  const { p50Ms, p99Ms, maxMs } = now.loopLag;
  for (const [quantile, lagMs] of [['0.5', p50Ms] as const, ['0.99', p99Ms] as const, ['1', maxMs] as const])
    set('corral_gateway_event_loop_lag_seconds', { quantile }, lagMs / 1000);
}
