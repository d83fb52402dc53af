import { lossCauses } from '#src/failure/meanings/loss-causes.ts';
import type { LossEffect } from '#src/ports/fleet/lifecycle.ts';
import { queueStates } from '#src/ports/launch-queue.ts';
import { type GarbageReason, loopNames } from '#src/ports/metrics.ts';
import { listed, ofEnvironment, ofTemplate, oneOf, seen, type Specs } from './spec.ts';
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

/** Answers that alerts count. */
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
        'a [cause](failures.md); `none`: it had no rollout, `swapped`: replaced silently, `tainted`: a rollout is lost, `broken`: by its own policy',
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
    help: 'Rollouts expired for inactivity or age',
    labels: [],
    fromStart: [{}],
  },
  corral_grants_taken_back_total: {
    ...controller,
    kind: 'counter',
    help: 'Granted sandboxes reclaimed unused',
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
    help: 'Launches and steps of the controller that failed, by blame and code; an unclassified one is a bug in Corral',
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
      because: 'an idle API server responds in some milliseconds; clients give up after ten seconds',
    },
  },
} as const satisfies Specs;

/** Every controller reads the same fleet state, so each tells the whole: a sum over controllers would double it. */
const fleet = { by: ['controller'], of: 'fleet' } as const;

/** What the fleet has and has used, whichever controller tells it. */
export const toldOfFleet = {
  corral_fleet_pool: {
    ...fleet,
    kind: 'gauge',
    help: 'Sandboxes by template and state (ready, launching, held), rollouts that wait for one (waiting), and what bursts ask to be ready (announced)',
    labels: [ofTemplate, oneOf('state', ['ready', 'launching', 'held', 'waiting', 'announced'])],
  },
  corral_fleet_pool_limit: {
    ...fleet,
    kind: 'gauge',
    help: 'How many sandboxes of a template are kept ready (min), and how many may be at all (max)',
    labels: [ofTemplate, oneOf('kind', ['min', 'max'])],
  },
  corral_fleet_breaker_open: {
    ...fleet,
    kind: 'gauge',
    help: '1 while the template starts no sandboxes because too many starts in a row have failed',
    labels: [ofTemplate],
  },
  corral_fleet_line_oldest_seconds: {
    ...fleet,
    kind: 'gauge',
    help: 'How long the rollout has waited that has waited longest for a sandbox of the template; 0: none waits',
    labels: [ofTemplate],
  },
  corral_fleet_template_info: {
    ...fleet,
    kind: 'gauge',
    help: '1, with an environment that uses the template',
    labels: [{ kind: 'pair', names: ['template', 'environment'], says: 'a template, and a name for it' }],
  },
  corral_fleet_start_budget: {
    ...fleet,
    kind: 'gauge',
    help: 'Sandboxes that start now, and how many may at once',
    labels: [oneOf('kind', ['used', 'limit'])],
  },
  corral_fleet_launch_queue: {
    ...fleet,
    kind: 'gauge',
    help: 'Launches in their queue',
    labels: [oneOf('state', queueStates, 'as BullMQ says')],
  },
  corral_fleet_sandbox_seconds_total: {
    ...fleet,
    kind: 'counter',
    help: 'Seconds of sandboxes that have ended or changed their state; an emptied Redis begins at 0 again',
    labels: [
      ofEnvironment,
      oneOf(
        'state',
        ['starting', 'ready', 'scored', 'discarded', 'ungraded'],
        'until it was ready; ready and unused; then, in a rollout, by the rollout’s end',
      ),
    ],
    fromStart: [],
  },
} as const satisfies Specs;
