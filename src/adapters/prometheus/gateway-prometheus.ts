import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import { failureRow } from '../../failure/codes.ts';
import type { FailureCode } from '../../failure/codes.ts';
import type { Face } from '../../model/face.ts';
import type { FleetEvent } from '../../ports/event-log.ts';
import type { GatewayGauges, GatewayMetrics } from '../../ports/gateway-metrics.ts';
import { eventMetrics } from './event-metrics.ts';

export type GatewayPrometheus = {
  readonly metrics: GatewayMetrics;
  /** Counts what is told to the event log. */
  readonly told: (event: FleetEvent) => void;
  /** Everything in the text format that Prometheus scrapes; `underWay` by kind of work. */
  readonly render: (gauges: GatewayGauges, underWay: Readonly<Record<string, number>>) => Promise<string>;
};

const faces = ['rft', 'native'] as const satisfies readonly Face[];

/** A gateway's counters and this process's own, in a registry of their own. Labels have few values: never an id. */
export function createGatewayPrometheus(): GatewayPrometheus {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const show = gauges(registry);
  return {
    metrics: doorMetrics(registry),
    told: eventMetrics(registry),
    render: (now, underWay) => {
      show(now, underWay);
      return registry.metrics();
    },
  };
}

function doorMetrics(registry: Registry): GatewayMetrics {
  const registers = [registry];
  const answers = new Counter({
    name: 'corral_gateway_answers_total',
    help: 'Answers by face and status',
    labelNames: ['face', 'status'],
    registers,
  });
  const failed = new Counter({
    name: 'corral_gateway_failures_total',
    help: 'Requests that failed, by face, blame and code; each unclassified one is a bug of ours',
    labelNames: ['face', 'blame', 'code'],
    registers,
  });
  // There from the start, so that an alert on its rise sees the first one rise.
  for (const face of faces) failed.inc(failureLabels(face, 'unclassified'), 0);
  return {
    answered: (face, status) => answers.inc({ face, status }),
    failed: (face, code) => failed.inc(failureLabels(face, code)),
  };
}

const failureLabels = (face: Face, code: FailureCode) => ({ face, blame: failureRow(code).blame, code });

function gauges(registry: Registry) {
  const gauge = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Gauge<Label>({ name, help, labelNames: [...labelNames], registers: [registry] });
  const requests = gauge('corral_gateway_held_requests', 'Requests in hand');
  const bytes = gauge('corral_gateway_held_body_bytes', 'Bytes of their bodies');
  const underWay = gauge('corral_gateway_under_way', 'Rollouts in line, calls and grades', ['kind']);
  const lag = gauge(
    'corral_gateway_event_loop_lag_seconds',
    'Lateness of the event loop since the last look',
    ['quantile'],
  );
  return (now: GatewayGauges, work: Readonly<Record<string, number>>) => {
    requests.set(now.heldRequests);
    bytes.set(now.heldBodyBytes);
    for (const [kind, count] of Object.entries(work)) underWay.set({ kind }, count);
    lag.set({ quantile: '0.5' }, now.loopLag.p50Ms / 1000);
    lag.set({ quantile: '0.99' }, now.loopLag.p99Ms / 1000);
    lag.set({ quantile: '1' }, now.loopLag.maxMs / 1000);
  };
}
