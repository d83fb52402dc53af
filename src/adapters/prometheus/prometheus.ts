import type { FailureCode } from '#src/failure/codes.ts';
import type { FleetEvent } from '#src/ports/event-log.ts';
import type { EnvironmentsInForce } from '#src/ports/fleet/registry.ts';
import type { SandboxCost } from '#src/ports/fleet/reports.ts';
import type { QueueCounts } from '#src/ports/launch-queue.ts';
import type { FleetPool, Metrics } from '#src/ports/metrics.ts';
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

export type Prometheus = {
  readonly metrics: Metrics;
  /** Counts what is told to the event log. */
  readonly told: (event: FleetEvent) => void;
  readonly fleetState: StateMetrics;
  /** Counts lines that the event log dropped. */
  readonly eventsDropped: (lines: number) => void;
  readonly logs: LogMetrics;
  /** Shows by which environments this process goes. */
  readonly environments: (now: EnvironmentsInForce) => void;
  /** Shows what all sandboxes have cost; null: nobody knows now, and it stays as it was. */
  readonly sandboxCost: (costs: readonly SandboxCost[] | null) => void;
  /** Shows the launches in their queue; null: they cannot be read now. */
  readonly launchQueue: (counts: QueueCounts | null) => void;
  /** Counts a call of the engine's API as it ended. */
  readonly apiCall: (call: ApiCall) => void;
  /** Everything in the text format that Prometheus scrapes. */
  readonly render: () => Promise<string>;
  /** Media type of what {@link Prometheus.render} gives. */
  readonly contentType: string;
};

/** What a controller counts, and of the events it tells. */
export function createPrometheus(own: {
  readonly version: string;
  /** Names of those in force now. */
  readonly environments: () => readonly string[];
}): Prometheus {
  const instruments = createInstruments('controller', own.environments);
  instruments.set('corral_build_info', { component: 'controller', version: own.version }, 1);
  // Counted many times a second in a burst, and shown when somebody looks.
  let pools: readonly FleetPool[] = [];
  return {
    metrics: {
      ...stepMetrics(instruments),
      ...endMetrics(instruments),
      poolCounted: (counted) => {
        pools = counted;
      },
      startsCounted: (used, limit) => {
        instruments.set('corral_fleet_start_budget', { kind: 'used' }, used);
        instruments.set('corral_fleet_start_budget', { kind: 'limit' }, limit);
      },
    },
    told: eventMetrics(instruments),
    fleetState: stateMetrics(instruments),
    logs: logMetrics(instruments),
    eventsDropped: (lines) => instruments.count('corral_events_dropped_total', {}, lines),
    environments: environmentMetrics(instruments),
    sandboxCost: (costs) => {
      if (costs === null) return;
      const all = costs.map(({ environment, state, ms }) => ({
        labels: { environment, state },
        value: ms / 1000,
      }));
      instruments.show('corral_fleet_sandbox_seconds_total', all);
    },
    launchQueue: (counts) => {
      const all = Object.entries(counts ?? {}).map(([state, value]) => ({ labels: { state }, value }));
      instruments.show('corral_fleet_launch_queue', all);
    },
    apiCall: apiMetrics(instruments),
    render: () => {
      showPools(instruments, pools);
      return instruments.render();
    },
    contentType: instruments.contentType,
  };
}

function stepMetrics({ count, observe }: Instruments): Pick<Metrics, 'launchEnded' | 'loopFailed'> {
  const failed = (code: FailureCode) => count('corral_controller_failures_total', blamed(code));
  return {
    launchEnded: ({ type, result }, durationMs) => {
      count('corral_launches_total', { type, result });
      if (result !== 'ready') failed(result);
      observe('corral_launch_duration_seconds', { type }, durationMs);
    },
    loopFailed: (loop, code) => {
      count('corral_loop_failures_total', { loop });
      failed(code);
    },
  };
}

/** Enough of a digest to tell templates apart. */
const templateLabelLength = 12;

const gaugedStates = [
  'ready',
  'launching',
  'held',
  'waiting',
  'announced',
] as const satisfies readonly (keyof FleetPool)[];

/** Templates that nobody counts any more vanish instead of keeping their last value. */
function showPools({ show }: Instruments, pools: readonly FleetPool[]): void {
  const shown = pools.map((pool) => ({ pool, template: pool.template.slice(0, templateLabelLength) }));
  show(
    'corral_fleet_pool',
    shown.flatMap(({ pool, template }) =>
      gaugedStates.map((state) => ({ labels: { template, state }, value: pool[state] })),
    ),
  );
  show(
    'corral_fleet_pool_limit',
    shown.flatMap(({ pool, template }) => [
      { labels: { template, kind: 'min' }, value: pool.minReady },
      { labels: { template, kind: 'max' }, value: pool.max },
    ]),
  );
  show(
    'corral_fleet_breaker_open',
    shown.map(({ pool, template }) => ({ labels: { template }, value: pool.breaker === 'closed' ? 0 : 1 })),
  );
  show(
    'corral_fleet_line_oldest_seconds',
    shown.map(({ pool, template }) => ({ labels: { template }, value: pool.oldestWaitMs / 1000 })),
  );
  show(
    'corral_fleet_template_info',
    shown.flatMap(({ pool, template }) =>
      pool.environments.map((environment) => ({ labels: { template, environment }, value: 1 })),
    ),
  );
}

type Ends = Omit<Metrics, 'launchEnded' | 'poolCounted' | 'startsCounted' | 'loopFailed'>;

function endMetrics({ count, set }: Instruments): Ends {
  return {
    ownersUnlabelled: (owners) => set('corral_unlabelled_owners', {}, owners),
    sandboxLost: (cause, effect) => count('corral_sandboxes_lost_total', { cause, effect }),
    sandboxDestroyed: () => count('corral_sandboxes_destroyed_total', {}),
    garbageFound: (reason) => count('corral_garbage_total', { reason }),
    rolloutsExpired: (rollouts) => count('corral_rollouts_expired_total', {}, rollouts),
    grantsTakenBack: (grants) => count('corral_grants_taken_back_total', {}, grants),
  };
}

type ApiCall = {
  readonly verb: string;
  readonly resource: string;
  /** A status, or a word for an ending without one. */
  readonly code: number | string;
  readonly durationMs: number;
};

/** Counts a call of the engine's API as it ended. */
function apiMetrics({ count, observe }: Instruments): (call: ApiCall) => void {
  return ({ verb, resource, code, durationMs }) => {
    count('corral_kubernetes_calls_total', { verb, resource, code: String(code) });
    if (verb !== 'watch') observe('corral_kubernetes_call_duration_seconds', { verb, resource }, durationMs);
  };
}
