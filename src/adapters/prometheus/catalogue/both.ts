import { ofEnvironment, oneOf, seen, type Specs } from './spec.ts';
import {
  backendsFromStart,
  callsFromStart,
  ofBackend,
  ofCall,
  ofVerdict,
  verdictsFromStart,
} from './tables.ts';

const both = { by: ['gateway', 'controller'], of: 'process' } as const;

/** What gateways and controllers tell alike, each of what itself did and sees. */
export const toldByBoth = {
  corral_build_info: {
    ...both,
    kind: 'gauge',
    help: '1, with what this process is and its version',
    labels: [
      oneOf('component', ['gateway', 'controller']),
      seen('version', 1, 'the version of this process'),
    ],
  },
  corral_calls_settled_total: {
    ...both,
    kind: 'counter',
    help: 'Tool calls that settled, by outcome, blame, code and environment; each once, in the process that told it',
    labels: [ofCall, ofEnvironment],
    fromStart: callsFromStart,
  },
  corral_backend_reports_total: {
    ...both,
    kind: 'counter',
    help: 'Tool calls that reported by their exit code that a backend failed, by what probes say of it and environment. If it is good, the report is the model’s own answer',
    labels: [ofBackend, ofEnvironment],
    fromStart: backendsFromStart,
  },
  corral_verdicts_total: {
    ...both,
    kind: 'counter',
    help: 'Verdicts on rollouts, by what the trainer may do, blame, code, environment, and whether the policy is suspected',
    labels: [ofVerdict, ofEnvironment],
    fromStart: verdictsFromStart,
  },
  corral_scores_total: {
    ...both,
    kind: 'counter',
    help: 'Scores that were stored, by environment',
    labels: [ofEnvironment],
    fromStart: [{}],
  },
  corral_scores_voided_total: {
    ...both,
    kind: 'counter',
    help: 'Scores that a caller took out of their run later, by environment',
    labels: [ofEnvironment],
    fromStart: [{}],
  },
  corral_score_points_total: {
    ...both,
    kind: 'counter',
    help: 'Sum of the scores by sign and environment. A score that is voided adds its size to the other sign, so the difference is the sum of the scores that count',
    labels: [oneOf('sign', ['positive', 'negative']), ofEnvironment],
    fromStart: [{ sign: 'positive' }, { sign: 'negative' }],
  },
  corral_events_dropped_total: {
    ...both,
    kind: 'counter',
    help: 'Lines that the event log could not keep, because their place is full or too slow',
    labels: [],
    fromStart: [{}],
  },
  corral_kept_lines_dropped_total: {
    ...both,
    kind: 'counter',
    help: 'Kept rollouts and call texts that were not written, because the disk is full or too slow',
    labels: [],
    fromStart: [{}],
  },
  corral_trajectory_lines_dropped_total: {
    ...both,
    kind: 'counter',
    help: 'Kept rollouts and call texts that are not in the trajectory store, because it is unreachable, full or too slow',
    labels: [],
    fromStart: [{}],
  },
  corral_trajectory_written_bytes_total: {
    ...both,
    kind: 'counter',
    help: 'Compressed bytes of trajectories that this process put into the trajectory store',
    labels: [],
    fromStart: [{}],
  },
  corral_event_log_written_bytes_total: {
    ...both,
    kind: 'counter',
    help: 'Bytes that this process wrote to files of a log: `events`, or `kept` (kept rollouts and call texts)',
    labels: [oneOf('log', ['events', 'kept'])],
    fromStart: [{ log: 'events' }, { log: 'kept' }],
  },
  corral_event_log_limit_bytes: {
    ...both,
    kind: 'gauge',
    help: 'Bytes that all files of a log may have (CORRAL_EVENT_LOG_MAX_BYTES); its oldest file is removed beyond that',
    labels: [oneOf('log', ['events', 'kept'])],
  },
  corral_environments_in_force: {
    ...both,
    kind: 'gauge',
    help: '1, with the digest of all environments that this process goes by; one digest in the whole fleet',
    labels: [seen('digest', 1, 'the first 12 hex digits; the one of now')],
  },
  corral_environments_trouble: {
    ...both,
    kind: 'gauge',
    help: '1 while the folder of environments, or the newest of the fleet, cannot be used here, so that older ones go on',
    labels: [],
  },
  corral_redis_up: {
    ...both,
    kind: 'gauge',
    help: '1 while this process reaches Redis, whether or not it holds the fleet',
    labels: [],
  },
  corral_recovering: {
    ...both,
    kind: 'gauge',
    help: '1 while Redis was restarted or replaced and the fleet is not written back yet',
    labels: [],
  },
  corral_redis_info: {
    ...both,
    kind: 'gauge',
    help: '1, with what Redis is, as it was when last reached',
    labels: [
      seen('version', 1, 'of Redis'),
      seen('maxmemory_policy', 1, 'as Redis says'),
      oneOf('append_only', ['yes', 'no'], 'whether every write goes to disk'),
    ],
  },
  corral_redis_policy_ok: {
    ...both,
    kind: 'gauge',
    help: '0 while Redis’ maxmemory-policy would forget rollouts when its memory is full; as it was when last reached',
    labels: [],
  },
  corral_redis_memory_bytes: {
    ...both,
    kind: 'gauge',
    help: 'What Redis uses, and its maxmemory; a limit of 0: it has none',
    labels: [oneOf('kind', ['used', 'limit'])],
  },
  corral_redis_command_seconds: {
    ...both,
    kind: 'histogram',
    help: 'Until Redis answered a script of fleet state, or until it was given up',
    labels: [],
    buckets: {
      seconds: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2],
      because: 'Redis answers in well under a millisecond, and after 2 s a command counts as unanswered',
    },
  },
} as const satisfies Specs;
