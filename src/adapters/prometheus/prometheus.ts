import { failureRow } from '../../failure/codes.ts';
import type { FailureCode } from '../../failure/codes.ts';
import type { FleetEvent } from '../../ports/event-log.ts';
import type { Metrics } from '../../ports/metrics.ts';
import type { EnvironmentsInForce } from '../../ports/fleet/catalogs.ts';
import type { StateHealth } from '../../ports/fleet/server.ts';
import type { TemplateCounts } from '../../ports/fleet/pool.ts';
import { apiMetrics } from './api-metrics.ts';
import type { ApiCall } from './api-metrics.ts';
import { environmentMetrics } from './environment-metrics.ts';
import { eventMetrics } from './event-metrics.ts';
import { createInstruments } from './instruments.ts';
import type { Instruments } from './instruments.ts';
import { stateMetrics } from './state-metrics.ts';

export type Prometheus = {
  readonly metrics: Metrics;
  /** Counts what is told to the event log. */
  readonly told: (event: FleetEvent) => void;
  /** Shows what this process sees of fleet state now. */
  readonly fleetState: (health: StateHealth) => void;
  /** Shows by which environments this process goes. */
  readonly environments: (now: EnvironmentsInForce) => void;
  /** Counts a call of the engine's API as it ended. */
  readonly apiCall: (call: ApiCall) => void;
  /** Everything in the text format that Prometheus scrapes. */
  readonly render: () => Promise<string>;
  /** Media type of what {@link Prometheus.render} gives. */
  readonly contentType: string;
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
  const failed = failureCount(instruments);
  return {
    metrics: {
      ...launchMetrics(instruments, failed),
      ...poolMetrics(instruments),
      ...endMetrics(instruments),
      ...loopMetrics(instruments, failed),
    },
    told: eventMetrics(instruments),
    fleetState: stateMetrics(instruments),
    environments: environmentMetrics(instruments),
    apiCall: apiMetrics(instruments),
    render: instruments.render,
    contentType: instruments.contentType,
  };
}

type CountFailure = (code: FailureCode) => void;

/** Whatever failed, by its code, as a gateway counts its own. */
function failureCount({ counter }: Instruments): CountFailure {
  const failed = counter(
    'corral_controller_failures_total',
    'Launches and steps of the controller that failed, by blame and code; each unclassified one is a bug of ours',
    ['blame', 'code'],
  );
  // There from the start, so that an alert on its rise sees the first one rise.
  failed.inc(failureLabels('unclassified'), 0);
  return (code) => failed.inc(failureLabels(code));
}

const failureLabels = (code: FailureCode) => ({ blame: failureRow(code).blame, code });

function launchMetrics(
  { counter, histogram }: Instruments,
  failed: CountFailure,
): Pick<Metrics, 'launchEnded'> {
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
      if (result !== 'ready') failed(result);
      duration.observe({ type }, durationMs / 1000);
    },
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

function loopMetrics({ counter }: Instruments, failed: CountFailure): Pick<Metrics, 'loopFailed'> {
  const failures = counter('corral_loop_failures_total', 'Steps of the controller that failed', ['loop']);
  return {
    loopFailed: (loop, code) => {
      failures.inc({ loop });
      failed(code);
    },
  };
}

function endMetrics({ counter }: Instruments): Omit<Metrics, 'launchEnded' | 'poolCounted' | 'loopFailed'> {
  const lost = counter('corral_sandboxes_lost_total', 'Sandboxes known to be gone, by cause and effect', [
    'cause',
    'effect',
  ]);
  const destroyed = counter('corral_sandboxes_destroyed_total', 'Removals that the provider accepted');
  const garbage = counter('corral_garbage_total', 'Unknown sandboxes destroyed, by reason', ['reason']);
  const expired = counter('corral_rollouts_expired_total', 'Rollouts that nobody called any more');
  const takenBack = counter('corral_grants_taken_back_total', 'Granted sandboxes that nobody came for');
  return {
    sandboxLost: (cause, effect) => lost.inc({ cause, effect }),
    sandboxDestroyed: () => destroyed.inc(),
    garbageFound: (reason) => garbage.inc({ reason }),
    rolloutsExpired: (count) => expired.inc(count),
    grantsTakenBack: (count) => takenBack.inc(count),
  };
}
