import { lossCauses } from '#src/failure/meanings/loss-causes.ts';
import type { LossEffect } from '#src/ports/fleet/lifecycle.ts';
import { type GarbageReason, loopNames } from '#src/ports/metrics.ts';
import { listed, oneOf, seen, type Specs } from './spec.ts';
import { failedLaunches, ofFailure, ofLaunch, ourFailures } from './tables.ts';

const controller = { by: ['controller'], of: 'process' } as const;

const effects = ['none', 'swapped', 'tainted', 'broken'] as const satisfies readonly LossEffect['kind'][];
const losses = Object.keys(lossCauses).flatMap((cause) => effects.map((effect) => ({ cause, effect })));

const reasons = ['unbound', 'rollout_ended', 'never_answered'] as const satisfies readonly GarbageReason[];

/** What is asked of the API server. */
const apiCalls = [
  ...['create', 'delete', 'get', 'list', 'patch', 'watch'].map((verb) => [verb, 'pods'] as const),
  ['list', 'nodes'],
  ['watch', 'nodes'],
  ['list', 'events'],
] as const;
const ofApiCall = listed(['verb', 'resource'], apiCalls, 'what was asked');

/** Answers that somebody is woken for. */
const apiTroubles = ['401', '403', '429', '500', '503', '504', 'broken', 'timeout'];

/** What a controller counts of launches, ends and its own steps. */
export const toldByControllers = {
  corral_launches_total: {
    ...controller,
    kind: 'counter',
    help: 'Sandbox launches that ended, by type (warm, cold, failed) and result (ready or a failure code)',
    labels: [ofLaunch],
    fromStart: [{ type: 'warm', result: 'ready' }, { type: 'cold', result: 'ready' }, ...failedLaunches],
  },
  corral_launch_duration_seconds: {
    ...controller,
    kind: 'histogram',
    help: 'From the reserved start slot to ready or failed',
    labels: [oneOf('type', ['warm', 'cold', 'failed'], 'as in `corral_launches_total`')],
    buckets: {
      seconds: [0.05, 0.1, 0.2, 0.4, 0.8, 1.5, 3, 6, 12, 25, 50, 100],
      because:
        'a warm start is some 150 ms and a cold one on a cluster up to a minute; between them the buckets double, so that a p99 is right to within a factor of two',
    },
  },
  corral_sandboxes_lost_total: {
    ...controller,
    kind: 'counter',
    help: 'Sandboxes known to be gone, by cause and by what it meant for a rollout',
    labels: [
      listed(
        ['cause', 'effect'],
        losses.map(({ cause, effect }) => [cause, effect]),
        'a [cause](failures.md); `none`: nobody’s, `swapped`: replaced silently, `tainted`: a rollout is lost, `broken`: by its own policy',
      ),
    ],
    fromStart: losses,
  },
  corral_sandboxes_destroyed_total: {
    ...controller,
    kind: 'counter',
    help: 'Removals that the provider accepted',
    labels: [],
    fromStart: [{}],
  },
  corral_garbage_total: {
    ...controller,
    kind: 'counter',
    help: 'Unknown sandboxes destroyed, by reason',
    labels: [oneOf('reason', reasons)],
    fromStart: reasons.map((reason) => ({ reason })),
  },
  corral_rollouts_expired_total: {
    ...controller,
    kind: 'counter',
    help: 'Rollouts that nobody called any more',
    labels: [],
    fromStart: [{}],
  },
  corral_grants_taken_back_total: {
    ...controller,
    kind: 'counter',
    help: 'Granted sandboxes that nobody came for',
    labels: [],
    fromStart: [{}],
  },
  corral_unlabelled_owners: {
    ...controller,
    kind: 'gauge',
    help: 'Sandboxes whose rollout this controller has not yet seen written where a new Redis would find it',
    labels: [],
  },
  corral_loop_failures_total: {
    ...controller,
    kind: 'counter',
    help: 'Steps of the controller that failed',
    labels: [oneOf('loop', loopNames, 'the loops of the controller')],
    fromStart: loopNames.map((loop) => ({ loop })),
  },
  corral_controller_failures_total: {
    ...controller,
    kind: 'counter',
    help: 'Launches and steps of the controller that failed, by blame and code; each unclassified one is a bug of ours',
    labels: [ofFailure],
    fromStart: ourFailures,
  },
  corral_kubernetes_calls_total: {
    ...controller,
    kind: 'counter',
    help: 'Calls of the Kubernetes API by verb and code',
    labels: [
      ofApiCall,
      seen('code', 24, 'status of HTTP, or `broken` or `timeout` for an ending without one'),
    ],
    fromStart: apiCalls.flatMap(([verb, resource]) => apiTroubles.map((code) => ({ verb, resource, code }))),
  },
  corral_kubernetes_call_duration_seconds: {
    ...controller,
    kind: 'histogram',
    help: 'Until the answer of the Kubernetes API, watches left out',
    labels: [ofApiCall],
    buckets: {
      seconds: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
      because:
        'an idle API server answers in some milliseconds; whoever waits longer than ten seconds has given up',
    },
  },
} as const satisfies Specs;
