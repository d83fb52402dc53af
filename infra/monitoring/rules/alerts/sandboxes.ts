import { suspectedOf } from '#src/failure/verdict.ts';
import { lossByPolicy } from '#src/failure/meanings/by-policy.ts';
import type { LossCause } from '#src/failure/codes.ts';
import { type Alert, by, countOf, of, sumOf } from '../rule.ts';

/* Whether rollouts get their sandboxes, how soon, and whether they keep them. */

const pool = (state: string) => of('corral:pool:max', `state=${state}`);
const breaker = `max ${by('template')} (${of('corral_fleet_breaker_open')}) == 1`;
const names = `max ${by('template', 'environment')} (${of('corral_fleet_template_info')})`;

/** Sandboxes that a template has or is starting, all that its `pool.max` bounds. */
const inUse = `sum ${by('template')} (${pool('~"ready|launching|held"')})`;
const most = `max ${by('template')} (${of('corral_fleet_pool_limit', 'kind="max"')})`;
const isFull = `${inUse} >= ${most}`;
const waits = `max ${by('template')} (${pool('"waiting"')}) > 0`;

const started = of('corral_launches_total', 'result="ready"');
const noRoom = of('corral_gateway_failures_total', 'code=~"capacity_timeout|line_full|unschedulable"');

/** Causes that no policy can bring about. The other causes have {@link Alert}s with the model's blame. */
const causesOfOurs = (Object.keys(lossByPolicy) as LossCause[])
  .filter((cause) => suspectedOf('sandbox_lost', cause) === null)
  .join('|');
const lost = of('corral_sandboxes_lost_total', `effect="tainted",cause=~"${causesOfOurs}"`);

const warm = of('corral_obtain_seconds_bucket', 'launch="warm"');
const allWarm = of('corral_obtain_seconds_count', 'launch="warm"');

export const sandboxAlerts = {
  LineStandsStill: {
    severity: 'critical',
    blame: 'infrastructure',
    expr: `${waits} unless on (namespace, fleet) ${sumOf('increase', started, '5m')} > 0 unless on (namespace, fleet, template) ${isFull} unless on (namespace, fleet, template) ${breaker}`,
    for: '5m',
    when: 'rollouts wait, their template is below its maximum and may start, and for 5 min no sandbox of the fleet became ready',
    summary:
      '{{ $value }} rollouts of fleet {{ $labels.fleet }} wait for a sandbox (template {{ $labels.template }}), and none has started for five minutes',
    description:
      'The fleet should be starting sandboxes and is not: controllers do not work, a quota is zero, no node has room, or the API server refuses.',
    consequenceOf: ['PartAway', 'FleetStateAway', 'KubernetesApiRefuses'],
  },
  PoolFull: {
    severity: 'warning',
    blame: 'infrastructure',
    expr: `${waits} and on (namespace, fleet, template) ${isFull}`,
    for: '10m',
    when: 'rollouts wait for 10 min while their template has as many sandboxes as its maximum',
    summary:
      '{{ $value }} rollouts of fleet {{ $labels.fleet }} wait, and template {{ $labels.template }} has all sandboxes that it may have',
    description: 'Everything works, but demand is above the pool’s maximum.',
  },
  NoSandboxInTime: {
    severity: 'warning',
    blame: 'infrastructure',
    expr: `${countOf(noRoom, '10m', 'code')} > 0`,
    for: '0s',
    when: 'any request failed with `capacity_timeout`, `line_full` or `unschedulable` in the last 10 min',
    summary: '{{ $value }} requests of fleet {{ $labels.fleet }} got no sandbox in time ({{ $labels.code }})',
    description:
      'Rollouts could not start. Trainers repeat such a request, three times on the RFT face, and then drop the rollout.',
    consequenceOf: ['LineStandsStill', 'PoolFull', 'TemplateCannotStart', 'PartAway', 'FleetStateAway'],
  },
  TemplateCannotStart: {
    severity: 'warning',
    blame: 'infrastructure',
    // Environments may share a template, so names are the many; a version that is only pinned may have none.
    expr: `(${names} * on (namespace, fleet, template) group_left () (${breaker})) or (${breaker} unless on (namespace, fleet, template) ${names})`,
    for: '1m',
    when: 'a template’s breaker is open: ten starts in a row have failed, or three for a reason that no other sandbox escapes',
    summary:
      'Sandboxes of environment {{ $labels.environment }} do not start in fleet {{ $labels.fleet }} (template {{ $labels.template }})',
    description:
      'Check the image, the pull secret, `prepare`, and what the cluster refuses. Other templates go on. One start is tried every 30 s, and the first success ends this.',
    consequenceOf: ['KubernetesApiRefuses', 'FleetStateAway'],
  },
  SandboxesLost: {
    severity: 'warning',
    blame: 'infrastructure',
    expr: `${countOf(lost, '15m', 'cause')} >= 3`,
    for: '0s',
    when: 'at least 3 rollouts lost their sandbox for one cause within 15 min, none that a policy could have caused',
    summary: '{{ $value }} rollouts of fleet {{ $labels.fleet }} lost their sandbox ({{ $labels.cause }})',
    description: 'Their rollouts are discarded, never scored. The cause says who took the sandboxes away.',
  },
  SlowSandbox: {
    severity: 'warning',
    blame: 'infrastructure',
    expr: `histogram_quantile(0.99, ${sumOf('rate', warm, '10m', 'environment', 'le')}) > 1 and ${countOf(allWarm, '10m', 'environment')} >= 20`,
    for: '5m',
    when: 'of 20 or more rollouts that found a warm sandbox within 10 min, one in a hundred waited longer than 1 s for it',
    summary:
      'A sandbox that was ready took up to {{ $value | humanizeDuration }} to hand over in environment {{ $labels.environment }} of fleet {{ $labels.fleet }}',
    description:
      'Handing over a warm sandbox takes milliseconds and the environment’s own `setup`. Either `setup` is slow, or gateways, Redis or their machines are overloaded.',
    consequenceOf: ['GatewayFull', 'FleetStateAway', 'FleetRecovers'],
  },
} as const satisfies Readonly<Record<string, Alert>>;
