import type { FleetEvent } from '../../ports/event-log.ts';
import type { Metrics } from '../../ports/metrics.ts';
import type { TemplateCounts } from '../../ports/fleet/pool.ts';
import { eventMetrics } from './event-metrics.ts';
import { createInstruments } from './instruments.ts';
import type { Instruments } from './instruments.ts';

export type Prometheus = {
  readonly metrics: Metrics;
  /** Counts what is told to the event log. */
  readonly told: (event: FleetEvent) => void;
  /** Counts a call of the engine's API as it ended; `code` is a status, or a word for an ending without one. */
  readonly apiCall: (call: ApiCall) => void;
  /** Everything in the text format that Prometheus scrapes. */
  readonly render: () => Promise<string>;
  /** Media type of what {@link Prometheus.render} gives. */
  readonly contentType: string;
};

type ApiCall = {
  readonly verb: string;
  readonly resource: string;
  readonly code: number | string;
  readonly durationMs: number;
};

/**
 * Seconds. A warm start is some 150 ms and a cold one on a cluster up to a minute; between them the buckets double, so
 * that a p99 is right to within a factor of two anywhere.
 */
const startBuckets = [0.05, 0.1, 0.2, 0.4, 0.8, 1.5, 3, 6, 12, 25, 50, 100];

/** Enough of a digest to tell templates apart. */
const templateLabelLength = 12;

/** What a controller counts, and of the events it tells. */
export function createPrometheus(): Prometheus {
  const instruments = createInstruments();
  return {
    metrics: { ...launchMetrics(instruments), ...poolMetrics(instruments), ...endMetrics(instruments) },
    told: eventMetrics(instruments),
    apiCall: apiMetrics(instruments),
    render: instruments.render,
    contentType: instruments.contentType,
  };
}

function launchMetrics({ counter, histogram }: Instruments): Pick<Metrics, 'launchEnded'> {
  const launches = counter(
    'corral_launches_total',
    'Sandbox launches that ended, by type (warm, cold, failed) and result (ready or a failure code)',
    ['type', 'result'],
  );
  const duration = histogram(
    'corral_launch_duration_seconds',
    'From the reserved start slot to ready or failed',
    ['type'],
    startBuckets,
  );
  return {
    launchEnded: ({ type, result }, durationMs) => {
      launches.inc({ type, result });
      duration.observe({ type }, durationMs / 1000);
    },
  };
}

/** Seconds. An idle API server answers in some milliseconds; whoever waits longer than ten seconds has given up. */
const apiBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

function apiMetrics({ counter, histogram }: Instruments): Prometheus['apiCall'] {
  const labels = ['verb', 'resource', 'code'] as const;
  const calls = counter(
    'corral_kubernetes_calls_total',
    'Calls of the Kubernetes API by verb and code',
    labels,
  );
  const duration = histogram(
    'corral_kubernetes_call_duration_seconds',
    'Until the answer of the Kubernetes API, watches left out',
    ['verb', 'resource'],
    apiBuckets,
  );
  return ({ verb, resource, code, durationMs }) => {
    calls.inc({ verb, resource, code: String(code) });
    if (verb !== 'watch') duration.observe({ verb, resource }, durationMs / 1000);
  };
}

const gaugedStates = [
  'ready',
  'launching',
  'held',
  'waiting',
  'announced',
] as const satisfies readonly (keyof TemplateCounts)[];

function poolMetrics({ gauge }: Instruments): Pick<Metrics, 'poolCounted'> {
  const sandboxes = gauge(
    'corral_pool',
    'Sandboxes by template and state (ready, launching, held), rollouts that wait for one (waiting), and what bursts ask to be ready (announced)',
    ['template', 'state'],
  );
  const breaker = gauge(
    'corral_breaker_open',
    '1 while the template starts no sandboxes because too many starts in a row have failed',
    ['template'],
  );
  return {
    poolCounted: (counts) => {
      // Templates that nobody counts any more must vanish instead of keeping their last value.
      sandboxes.reset();
      breaker.reset();
      for (const one of counts) {
        const template = one.template.slice(0, templateLabelLength);
        for (const state of gaugedStates) sandboxes.set({ template, state }, one[state]);
        breaker.set({ template }, one.breaker === 'closed' ? 0 : 1);
      }
    },
  };
}

function endMetrics({ counter }: Instruments): Omit<Metrics, 'launchEnded' | 'poolCounted'> {
  const lost = counter('corral_sandboxes_lost_total', 'Sandboxes known to be gone, by cause and effect', [
    'cause',
    'effect',
  ]);
  const destroyed = counter('corral_sandboxes_destroyed_total', 'Removals that the provider accepted');
  const garbage = counter('corral_garbage_total', 'Unknown sandboxes destroyed, by reason', ['reason']);
  const expired = counter('corral_rollouts_expired_total', 'Rollouts that nobody called any more');
  const takenBack = counter('corral_grants_taken_back_total', 'Granted sandboxes that nobody came for');
  const failed = counter('corral_loop_failures_total', 'Steps of the controller that failed', ['loop']);
  return {
    sandboxLost: (cause, effect) => lost.inc({ cause, effect }),
    sandboxDestroyed: () => destroyed.inc(),
    garbageFound: (reason) => garbage.inc({ reason }),
    rolloutsExpired: (count) => expired.inc(count),
    grantsTakenBack: (count) => takenBack.inc(count),
    loopFailed: (loop) => failed.inc({ loop }),
  };
}
