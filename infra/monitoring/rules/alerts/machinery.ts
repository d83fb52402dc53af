import { type Alert, by, countOf, of, sumOf } from '../rule.ts';

/* The parts of a fleet: gateways, controllers, Redis, the API server, and the resources that they have. */

const told = (code: string) => ({
  gateways: of('corral_gateway_failures_total', `code="${code}"`),
  controllers: of('corral_controller_failures_total', `code="${code}"`),
});

const stateAway = told('state_unavailable');
const unclassified = told('unclassified');

const api = (where = '') => of('corral_kubernetes_calls_total', where);
const refusedCalls = countOf(api('code=~"401|403"'), '5m', 'verb', 'resource', 'code');
/** A spent quota also refuses with 403. That is ordinary, because other creations succeed at the same time. */
const quotaOnly = `(${countOf(api('verb="create",resource="pods",code=~"401|403"'), '5m', 'verb', 'resource', 'code')} and on (namespace, fleet) ${countOf(api('verb="create",resource="pods",code="201"'), '5m')} > 0)`;
/** Watches are left out: they end and start again in normal operation. */
const troubledCalls = sumOf('rate', api('verb!="watch",code=~"429|5..|broken|timeout"'), '5m');
const allCalls = sumOf('rate', api('verb!="watch"'), '5m');

const absent = (component: string) => `absent(${of('corral_build_info', `component="${component}"`)})`;

const held = of('corral_gateway_held_requests');
const heldLimit = of('corral_gateway_held_requests_limit');
const overloaded = of('corral_gateway_failures_total', 'code="gateway_overloaded"');
const lag = of('corral_gateway_event_loop_lag_seconds', 'quantile="0.99"');

const memory = (kind: string) => `max ${by()} (${of('corral_redis_memory_bytes', `kind="${kind}"`)})`;

export const machineryAlerts = {
  FleetStateAway: {
    severity: 'critical',
    blame: 'infrastructure',
    expr: `max ${by()} (1 - ${of('corral_redis_up')}) > 0 or ${sumOf('increase', stateAway.gateways, '1m')} > 0 or ${sumOf('increase', stateAway.controllers, '1m')} > 0`,
    for: '1m',
    when: 'for 1 min a gateway or controller does not reach Redis, or fails with `state_unavailable`',
    summary: 'Fleet {{ $labels.fleet }} does not reach its Redis',
    description:
      'Requests are held, and trainers wait. Running rollouts are not lost, and their time limits pause.',
  },
  FleetRecovers: {
    severity: 'critical',
    blame: 'infrastructure',
    expr: `max ${by()} (${of('corral_recovering')}) == 1`,
    for: '2m',
    when: 'Redis was emptied or replaced, and the fleet’s state has not been restored for 2 min',
    summary: 'Fleet {{ $labels.fleet }} has not been written back into its Redis for two minutes',
    description:
      'Every request is held as `recovering`. A controller restores the state within seconds: it lists the sandboxes and asks each for its rollout.',
    consequenceOf: ['FleetStateAway', 'PartAway', 'KubernetesApiRefuses'],
  },
  KubernetesApiRefuses: {
    severity: 'critical',
    blame: 'infrastructure',
    expr: `(${refusedCalls} > 0 unless ${quotaOnly}) or ${troubledCalls} / (${allCalls} > 0) > 0.2`,
    for: '1m',
    when: 'the API server answers 401 or 403 (except for a spent quota), or more than 20 % of calls fail with 429, 5xx or no answer',
    summary:
      'The API server refuses calls of fleet {{ $labels.fleet }}{{ with $labels.resource }} ({{ $labels.verb }} {{ . }}: {{ $labels.code }}){{ end }}',
    description:
      'A right is missing, a quota is zero, or the API server is failing. Running sandboxes continue; no sandbox is started or removed.',
  },
  PartAway: {
    severity: 'critical',
    blame: 'infrastructure',
    expr: `${absent('gateway')} or ${absent('controller')}`,
    for: '2m',
    when: 'for 2 min no gateway, or no controller, was scraped',
    summary: 'Fleet {{ $labels.fleet }} has no {{ $labels.component }}',
    description:
      'Without gateways trainers cannot reach the fleet; without controllers sandboxes do not start or end, and losses go unnoticed. Or Prometheus no longer finds them.',
  },
  GatewayFull: {
    severity: 'warning',
    blame: 'infrastructure',
    expr: `max ${by('pod')} (${held} / ${heldLimit}) > 0.8 or ${countOf(overloaded, '5m', 'pod')} > 0 or max ${by('pod')} (${lag}) > 0.5`,
    for: '2m',
    when: 'for 2 min a gateway holds more than 80 % of its limit, refuses requests, or its event loop is late by more than 0.5 s (p99)',
    summary: 'Gateway {{ $labels.pod }} of fleet {{ $labels.fleet }} has too much to do',
    description: 'Answers are late, and requests above the limit fail with `gateway_overloaded`.',
    consequenceOf: ['FleetStateAway', 'FleetRecovers', 'LineStandsStill'],
  },
  RedisNearlyFull: {
    severity: 'warning',
    blame: 'infrastructure',
    expr: `${memory('used')} / (${memory('limit')} > 0) > 0.8`,
    for: '5m',
    when: 'for 5 min Redis uses more than 80 % of its `maxmemory`',
    summary: 'Redis of fleet {{ $labels.fleet }} is {{ $value | humanizePercentage }} full',
    description:
      'A full Redis refuses writes: no rollout starts and no call settles. Requests fail with `state_unavailable`.',
  },
  RedisMayEvict: {
    severity: 'warning',
    blame: 'infrastructure',
    expr: `min ${by()} (${of('corral_redis_policy_ok')}) == 0`,
    for: '1m',
    when: 'for 1 min Redis has a `maxmemory-policy` other than `noeviction`',
    summary: 'Redis of fleet {{ $labels.fleet }} may forget rollouts when it is short of memory',
    description:
      'Rollouts, pins and environments all expire, so Redis evicts exactly these keys. A running rollout whose keys are evicted is discarded.',
  },
  FleetKeyRefused: {
    severity: 'critical',
    blame: 'infrastructure',
    expr: `sum ${by('pod')} (increase(${of('corral_gateway_key_refusals')}[10m])) > 0`,
    for: '1m',
    when: 'sandboxes have refused a gateway’s fleet key within 10 min',
    summary:
      'Sandboxes of fleet {{ $labels.fleet }} refuse gateway {{ $labels.pod }}: its fleet key is not the controllers’',
    description:
      'That gateway cannot open sandboxes made under the other key. A rotation was done in another order, or a Secret differs.',
  },
  EnvironmentsInTrouble: {
    severity: 'warning',
    blame: 'infrastructure',
    expr: `max ${by('pod')} (${of('corral_environments_trouble')}) == 1 or count ${by()} (count ${by('digest')} (${of('corral_environments_in_force')} == 1)) > 1`,
    for: '5m',
    when: 'for 5 min a process cannot use the newest environments, or processes use different ones',
    summary: 'Fleet {{ $labels.fleet }} does not use its newest environments',
    description:
      'The older environments stay in use, so nothing breaks now. But a pod that starts with the faulty folder ends at once.',
  },
  GradersFail: {
    severity: 'warning',
    blame: 'infrastructure',
    expr: `${countOf(of('corral_gateway_failures_total', 'code=~"grader_failed|judge_suspect"'), '15m')} >= 3`,
    for: '0s',
    when: 'at least 3 grades ended as `grader_failed` or `judge_suspect` within 15 min',
    summary: '{{ $value }} grades of fleet {{ $labels.fleet }} failed in a quarter of an hour',
    description:
      'A judge refuses, does not answer or scores a canary wrongly, or a grader’s program fails. Such a rollout gets no score, and never a zero.',
    consequenceOf: ['FleetStateAway', 'PartAway'],
  },
  EventsDropped: {
    severity: 'warning',
    blame: 'infrastructure',
    expr: `${countOf(of('corral_events_dropped_total'), '15m', 'pod')} > 0`,
    for: '0s',
    when: 'any event was dropped within 15 min',
    summary: '{{ $value }} events of {{ $labels.pod }} (fleet {{ $labels.fleet }}) are in no log',
    description:
      'The disk or the reader of the event log is too slow or full. Rollouts are not affected, but their timelines have gaps.',
  },
  TrajectoriesDropped: {
    severity: 'warning',
    blame: 'infrastructure',
    expr: `${countOf(of('corral_trajectory_lines_dropped_total'), '15m', 'pod')} > 0`,
    for: '0s',
    when: 'any kept rollout or text of a call was lost on its way to the trajectory store within 15 min',
    summary:
      '{{ $value }} lines of {{ $labels.pod }} (fleet {{ $labels.fleet }}) are not in the trajectory store',
    description:
      'The trajectory store is unreachable, full or too slow. Calls and scores are not affected, but regrading from the store misses rollouts.',
  },
  LogTooShort: {
    severity: 'warning',
    blame: 'infrastructure',
    expr: `min ${by('pod', 'log')} (${of('corral_event_log_limit_bytes')} / (rate(${of('corral_event_log_written_bytes_total')}[3h]) > 0)) < 86400`,
    for: '30m',
    when: 'for 30 min a log fills so fast that its lines are removed less than a day after they were written',
    summary:
      'The log {{ $labels.log }} of {{ $labels.pod }} (fleet {{ $labels.fleet }}) keeps lines for {{ $value | humanizeDuration }} only',
    description:
      'Timelines, studies and regrading of an older run will find nothing. Rollouts and scores are not affected.',
  },
  Unclassified: {
    severity: 'warning',
    blame: 'infrastructure',
    expr: `${countOf(unclassified.gateways, '15m', 'component')} > 0 or ${countOf(unclassified.controllers, '15m', 'component')} > 0`,
    for: '0s',
    when: 'any unclassified failure, in a gateway or a controller, within 15 min',
    summary: '{{ $value }} failures of fleet {{ $labels.fleet }}’s {{ $labels.component }}s are unclassified',
    description: 'Each is a bug in Corral. It counts as an infrastructure failure, so no score is wrong.',
  },
} as const satisfies Readonly<Record<string, Alert>>;
