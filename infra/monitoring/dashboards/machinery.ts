import { kubernetes, redis } from './machinery-beneath.ts';
import { type Dashboard, type Limits, lines, type Row, stacked, stat, table } from './definition.ts';
import { one, perMinute, perSecond, quantile, series, sum, thatHappens } from './queries.ts';

const ofUs = 'component=~"gateway|controller"';
const gateway = 'component="gateway"';

const twoOfThem: Limits = {
  below: 'red',
  steps: [
    { from: 1, colour: 'yellow', because: 'one alone: whatever replaces it, there is a moment without' },
    { from: 2, colour: 'green', because: 'one may go at any time' },
  ],
};

const presence: Row = {
  title: 'Processes',
  panels: [
    stat('Gateways', 'count', {
      columns: 4,
      reading: 'Gateways that Prometheus reaches.',
      todo: '`kubectl get pods`, `kubectl describe` for pods that are not ready.',
      limits: twoOfThem,
      queries: one(sum([], series('up', gateway))),
    }),
    stat('Controllers', 'count', {
      columns: 4,
      reading: 'Controllers that Prometheus reaches. None leads, each does the whole work.',
      todo: '`kubectl get pods`, `kubectl describe` for pods that are not ready. Without controllers sandboxes do not start or end.',
      limits: twoOfThem,
      queries: one(sum([], series('up', 'component="controller"'))),
    }),
    stat('Processes that reach Redis', 'share', {
      columns: 4,
      reading: 'Of all gateways and controllers.',
      todo: 'Requests are held meanwhile. One of them: its network or password. All: Redis itself; docs/recovery.md.',
      limits: {
        below: 'red',
        steps: [{ from: 1, colour: 'green', because: 'each needs it for everything it does' }],
      },
      queries: one(`avg (${series('corral_redis_up')})`),
    }),
    stat('Fleet recovery', 'yesNo', {
      columns: 4,
      reading: 'Redis was restarted or replaced, and the fleet is not written back yet.',
      todo: 'It takes seconds. Longer: the controllers’ log says which sandboxes do not answer; docs/recovery.md.',
      limits: {
        below: 'green',
        steps: [{ from: 1, colour: 'yellow', because: 'all requests are held meanwhile' }],
      },
      queries: one(`max (${series('corral_recovering')})`),
    }),
    stat('Different sets of environments', 'count', {
      columns: 4,
      reading: 'Processes agree which environments there are when this is 1.',
      todo: 'If it is higher for longer than a minute, a process cannot read the newest version; see `corral_environments_trouble` and its log.',
      limits: {
        below: 'green',
        steps: [
          { from: 2, colour: 'yellow', because: 'which version a rollout gets depends on its gateway' },
        ],
      },
      queries: one(`count (count by (digest) (${series('corral_environments_in_force')}))`),
    }),
    stat('First key that expires', 'seconds', {
      columns: 4,
      reading: 'Until the next API key is no longer valid.',
      todo: '`corral keys create` another and give it to its owner before this one ends.',
      limits: {
        below: 'red',
        steps: [
          { from: 86_400, colour: 'yellow', because: 'after a day, working hours are over' },
          { from: 604_800, colour: 'green', because: 'a week is time to hand out another' },
        ],
      },
      needs: 'event',
      queries: one(`min (${series('corral_key_expiry_timestamp_seconds')}) - time ()`),
    }),
  ],
};

const gateways: Row = {
  title: 'Gateways',
  panels: [
    lines('Held requests by gateway', 'share', {
      columns: 8,
      reading: 'Requests that it holds, of the most that it may.',
      todo: 'Add gateways, or raise `gateway.maxHeldRequests` and memory together. At 100 % requests are refused with `gateway_overloaded`.',
      limits: {
        below: 'green',
        steps: [
          { from: 0.5, colour: 'yellow', because: 'if half of the gateways go, the others are full' },
          { from: 0.8, colour: 'red', because: 'the next burst is refused' },
        ],
      },
      queries: one(
        `${series('corral_gateway_held_requests')} / ${series('corral_gateway_held_requests_limit')}`,
        '{{pod}}',
      ),
    }),
    lines('Event loop lag by gateway', 'seconds', {
      columns: 8,
      reading: 'How late 99 of 100 timers of a gateway were.',
      todo: 'Give it more CPU, or add another process. If it is only one, check its log for a large body or file.',
      limits: {
        below: 'green',
        steps: [
          { from: 0.1, colour: 'yellow', because: 'every call has to pass it several times' },
          { from: 0.5, colour: 'red', because: 'probes fail next, and then it is restarted' },
        ],
      },
      queries: one(series('corral_gateway_event_loop_lag_seconds', 'quantile="0.99"'), '{{pod}}'),
    }),
    lines('Held bytes by gateway', 'bytes', {
      columns: 8,
      reading: 'Bytes of the bodies that each gateway holds.',
      todo: 'Files and dataset rows are most of it. Near `gateway.maxHeldBodyBytes` new ones are refused.',
      limits: { none: 'the limit is a setting, and the share next to it reaches its own first' },
      queries: one(series('corral_gateway_held_body_bytes'), '{{pod}}'),
    }),
    stacked('Gateway answers by status', 'perSecond', {
      columns: 8,
      reading: 'Answers by face and status, without probes and scrapes.',
      todo: '5xx: Whose failure has their codes and blames. On the native face 202 is no failure.',
      limits: { none: 'whose a failure is decides, not its status' },
      queries: one(sum(['face', 'status'], perSecond('corral_gateway_answers_total')), '{{face}} {{status}}'),
    }),
    lines('Request duration by route', 'seconds', {
      columns: 8,
      reading: '99 of 100 are answered within it, by face and route. Commands and waiting are part of it.',
      todo: 'At 540 s requests give up: One environment shows where their seconds go.',
      limits: {
        below: 'green',
        steps: [{ from: 500, colour: 'red', because: 'a request is held 540 s and then fails' }],
      },
      queries: one(
        quantile(0.99, 'corral_gateway_request_duration_seconds', ['face', 'route']),
        '{{face}} {{route}}',
      ),
    }),
    stacked('Repeated requests by face', 'perMinute', {
      columns: 8,
      reading: 'Recorded answers that were returned to repeated requests.',
      todo: 'A proxy cuts requests short, or the trainer’s own timeout is below 600 s; docs/trainers.md.',
      limits: { none: 'a repeat costs nothing; a trainer that has none left discards' },
      queries: one(perMinute(['face'], 'corral_replays_total'), '{{face}}'),
    }),
  ],
};

const processes: Row = {
  title: 'Processes',
  panels: [
    lines('CPU', 'cores', {
      columns: 8,
      reading:
        'Of each gateway and controller. JavaScript runs on one core; its helpers use some of another.',
      todo: 'Gateways: add some. Controllers: more do not share the work; look for a step that fails and is repeated.',
      limits: {
        below: 'green',
        steps: [{ from: 0.9, colour: 'yellow', because: 'one core is all that its main thread can use' }],
      },
      queries: one(perSecond('process_cpu_seconds_total', ofUs), '{{pod}}'),
    }),
    lines('Memory', 'bytes', {
      columns: 8,
      reading: 'Resident memory of each gateway and controller.',
      todo: 'Compare with `resources.limits.memory`: who passes it is killed, and what it held is sent again.',
      limits: { none: 'the bound is a setting' },
      queries: one(series('process_resident_memory_bytes', ofUs), '{{pod}}'),
    }),
    table('Running versions', 'count', {
      columns: 8,
      reading: 'Processes by component and version. During an upgrade there are two of each.',
      todo: 'Two for long: `kubectl rollout status`. They work together, see docs/upgrade.md.',
      limits: { none: 'an upgrade is meant to show' },
      queries: one(`sum by (component, version) (${series('corral_build_info')})`),
    }),
  ],
};

const controllers: Row = {
  title: 'Controllers',
  panels: [
    stacked('Failed controller steps', 'perMinute', {
      columns: 8,
      reading: 'Steps of controllers that failed and will be tried again.',
      todo: 'The controller’s log has each with its reason. All of them: Redis or the API server.',
      limits: { none: 'it counts where it goes on; the alerts look at that' },
      needs: 'event',
      queries: one(thatHappens(['loop'], 'corral_loop_failures_total'), '{{loop}}'),
    }),
    stacked('Launches by controller', 'perMinute', {
      columns: 8,
      reading: 'Launches that ended, by controller.',
      todo: 'One launches nothing for long: its log, or its connection to the queue.',
      limits: { none: 'who takes a launch is chance' },
      queries: one(perMinute(['pod'], 'corral_launches_total'), '{{pod}}'),
    }),
    stacked('Removed orphans and expired rollouts', 'perMinute', {
      columns: 8,
      reading:
        'Sandboxes that the provider has and fleet state does not know, and rollouts that expired without calls.',
      todo: 'Some after a crash are what this is for. Always some: two fleets of one name, or trainers that never close.',
      limits: { none: 'some leftovers are normal' },
      queries: [
        { expr: perMinute(['reason'], 'corral_garbage_total'), legend: '{{reason}}' },
        { expr: perMinute([], 'corral_rollouts_expired_total'), legend: 'rollouts expired' },
        { expr: perMinute([], 'corral_grants_taken_back_total'), legend: 'grants taken back' },
      ],
    }),
  ],
};

export const machinery: Dashboard = {
  uid: 'corral-machinery',
  title: 'Corral / Machinery',
  description:
    'For operators: gateways, controllers, Redis and the Kubernetes API. Vertical lines are starts of processes.',
  environments: 'unused',
  rows: [presence, gateways, processes, controllers, redis, kubernetes],
};
