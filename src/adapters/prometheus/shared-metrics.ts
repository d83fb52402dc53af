import type { FleetEvent } from '#src/ports/event-log.ts';
import type { EnvironmentsInForce } from '#src/ports/fleet/registry.ts';
import type { StateHealth, StateServer } from '#src/ports/fleet/server.ts';
import { blamed, none } from './catalogue/tables.ts';
import type { Instruments } from './instruments.ts';

/**
 * Settled calls and verdicts, counted as they are told to the event log: each once, in whichever process told it. Their
 * labels are what an operator asks for: whose failure, which, and in which environment.
 */
export function eventMetrics({ count }: Instruments): (event: FleetEvent) => void {
  return (event) => {
    if (event.kind === 'call_settled') {
      const { backend, environment } = event;
      count('corral_calls_settled_total', callLabels(event));
      if (backend !== undefined) count('corral_backend_reports_total', { backend, environment });
    }
    if (event.kind === 'verdict') count('corral_verdicts_total', verdictLabels(event));
    countScore(count, event);
  };
}

/** A counter only rises, so what is negative, and what is taken back, is counted by its size. */
function countScore(count: Instruments['count'], event: FleetEvent): void {
  if (event.kind !== 'verdict' && event.kind !== 'rollout_voided') return;
  const { score = null, environment } = event;
  if (score === null) return;
  const isVoided = event.kind === 'rollout_voided';
  const sign = score < 0 === isVoided ? 'positive' : 'negative';
  count(isVoided ? 'corral_scores_voided_total' : 'corral_scores_total', { environment });
  count('corral_score_points_total', { sign, environment }, Math.abs(score));
}

function callLabels({ summary, blame, environment }: Extract<FleetEvent, { kind: 'call_settled' }>) {
  const { outcome, code } = summary;
  return { outcome: outcome ?? none, blame: blame ?? none, code: code ?? none, environment };
}

function verdictLabels({ verdict, suspected, environment }: Extract<FleetEvent, { kind: 'verdict' }>) {
  const { blame, code } = verdict.kind === 'scorable' ? nobody : blamed(verdict.code);
  return { verdict: verdict.kind, blame, code, environment, suspected: suspected ?? none };
}

const nobody = { blame: none, code: none };

/** Logs with files of their own: events, and kept rollouts with call texts. */
type LogName = 'events' | 'kept';

export type LogMetrics = {
  readonly written: (log: LogName) => (bytes: number) => void;
  /** Shows how many bytes each of these logs may have. */
  readonly limited: (logs: readonly LogName[], bytes: number) => void;
  /** Counts lines of kept rollouts and call texts that were lost. */
  readonly keptDropped: (lines: number) => void;
  /** Counts lines of trajectories that were lost, and bytes that their store has. */
  readonly trajectoriesDropped: (lines: number) => void;
  readonly trajectoriesWritten: (bytes: number) => void;
};

/** How fast logs fill, so that an operator knows how long a line stays. */
export function logMetrics({ count, set }: Instruments): LogMetrics {
  return {
    written: (log) => (bytes) => count('corral_event_log_written_bytes_total', { log }, bytes),
    limited: (logs, bytes) => {
      for (const log of logs) set('corral_event_log_limit_bytes', { log }, bytes);
    },
    keptDropped: (lines) => count('corral_kept_lines_dropped_total', {}, lines),
    trajectoriesDropped: (lines) => count('corral_trajectory_lines_dropped_total', {}, lines),
    trajectoriesWritten: (bytes) => count('corral_trajectory_written_bytes_total', {}, bytes),
  };
}

/** Enough of a digest to see whether all processes go by the same. */
const digestLabelLength = 12;

/** By which environments a process goes, and whether its own folder can be used. */
export function environmentMetrics({ show, set }: Instruments): (now: EnvironmentsInForce) => void {
  return ({ digest, trouble }) => {
    const labels = { digest: digest.slice(0, digestLabelLength) };
    show('corral_environments_in_force', [{ labels, value: 1 }]);
    set('corral_environments_trouble', {}, trouble === null ? 0 : 1);
  };
}

export type StateMetrics = {
  /** How long a script of fleet state took. */
  readonly script: (tookMs: number) => void;
  /** Shows what is seen of it now; `usedBytes` null: it does not say. */
  readonly seen: (now: { readonly health: StateHealth; readonly usedBytes: number | null }) => void;
};

/** What a process sees of the Redis that holds fleet state. */
export function stateMetrics({ set, show, observe }: Instruments): StateMetrics {
  const seen: StateMetrics['seen'] = ({ health: { state, server }, usedBytes }) => {
    if (usedBytes !== null) set('corral_redis_memory_bytes', { kind: 'used' }, usedBytes);
    set('corral_redis_up', {}, state === 'away' ? 0 : 1);
    set('corral_recovering', {}, state === 'recovering' ? 1 : 0);
    // What is not known is no reason to wake anybody.
    set('corral_redis_policy_ok', {}, mayForget(server) ? 0 : 1);
    if (server === null) return;
    const { version, evictionPolicy, appendOnly, memoryLimitBytes } = server;
    const labels = { version, maxmemory_policy: evictionPolicy, append_only: appendOnly ? 'yes' : 'no' };
    show('corral_redis_info', [{ labels, value: 1 }]);
    set('corral_redis_memory_bytes', { kind: 'limit' }, memoryLimitBytes ?? 0);
  };
  return { seen, script: (tookMs) => observe('corral_redis_command_seconds', {}, tookMs) };
}

/** A Redis that does not say is taken at its start's word. */
const mayForget = (server: StateServer | null): boolean =>
  !['', 'noeviction'].includes(server?.evictionPolicy ?? '');
