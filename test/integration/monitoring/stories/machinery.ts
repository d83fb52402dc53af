import type { machineryAlerts } from '#infra/monitoring/rules/alerts/machinery.ts';
import type { Stories } from '../story.ts';

const gatewayFailed = (code: string, pod = 'g1') =>
  `corral_gateway_failures_total{pod="${pod}",component="gateway",face="rft",blame="infrastructure",code="${code}"}`;
const controllerFailed = (code: string) =>
  `corral_controller_failures_total{pod="c1",component="controller",blame="infrastructure",code="${code}"}`;
const redisUp = (pod: string) => `corral_redis_up{pod="${pod}"}`;
const recovering = (pod: string) => `corral_recovering{pod="${pod}"}`;
const api = (verb: string, resource: string, code: string) =>
  `corral_kubernetes_calls_total{pod="c1",verb="${verb}",resource="${resource}",code="${code}"}`;
const part = (component: string) =>
  `corral_build_info{pod="${component}-1",component="${component}",version="1"}`;
const held = 'corral_gateway_held_requests{pod="g1"}';
const heldLimit = 'corral_gateway_held_requests_limit{pod="g1"}';
const lag = 'corral_gateway_event_loop_lag_seconds{pod="g1",quantile="0.99"}';
const memory = (kind: string) => `corral_redis_memory_bytes{pod="g1",kind="${kind}"}`;
const trouble = (pod: string) => `corral_environments_trouble{pod="${pod}"}`;
const inForce = (pod: string, digest: string) =>
  `corral_environments_in_force{pod="${pod}",digest="${digest}"}`;
const refusals = 'corral_gateway_key_refusals{pod="g1"}';
const dropped = 'corral_events_dropped_total{pod="g1"}';
const notStored = 'corral_trajectory_lines_dropped_total{pod="g1"}';
const keptWritten = 'corral_event_log_written_bytes_total{pod="g1",log="kept"}';
const keptLimit = 'corral_event_log_limit_bytes{pod="g1",log="kept"}';

export const machineryStories = {
  FleetStateAway: {
    fires: [
      {
        when: 'one of two gateways does not reach Redis',
        series: { [redisUp('g1')]: '1x4 0x10', [redisUp('g2')]: '1x14' },
        at: '4m',
        told: { summary: 'Fleet lab does not reach its Redis' },
      },
      {
        when: 'Redis is reached and takes no write, and controllers fail for it',
        series: { [redisUp('c1')]: '1x20', [controllerFailed('state_unavailable')]: '0x4 0+5x16' },
        at: '5m',
        told: { summary: 'Fleet lab does not reach its Redis' },
      },
    ],
    silent: [
      {
        when: 'a failover takes half a minute, and one loop of a controller failed by it',
        series: {
          [redisUp('g1')]: '1x4 0 1x10',
          [redisUp('c1')]: '1x14',
          [controllerFailed('state_unavailable')]: '0x4 1x10',
        },
        at: '3m',
      },
    ],
    resolves: [
      {
        when: 'Redis is back',
        series: { [redisUp('g1')]: '0x8 1x10', [gatewayFailed('state_unavailable')]: '0+1x8 9x10' },
        firesAt: '3m',
        goneAt: '6m',
      },
    ],
  },
  FleetRecovers: {
    fires: [
      {
        when: 'for three minutes no controller writes the fleet back',
        series: { [recovering('g1')]: '0x2 1x10', [recovering('g2')]: '0x2 1x10' },
        at: '4m',
        told: { summary: 'Fleet lab has not been written back into its Redis for two minutes' },
      },
    ],
    silent: [
      {
        when: 'it is written back within a minute',
        series: { [recovering('g1')]: '0x2 1x2 0x10', [recovering('g2')]: '0x2 1x2 0x10' },
        at: '4m',
      },
    ],
    resolves: [
      {
        when: 'a controller is back and has written it',
        series: { [recovering('g1')]: '1x8 0x8' },
        firesAt: '3m',
        goneAt: '5m',
      },
    ],
  },
  KubernetesApiRefuses: {
    fires: [
      {
        when: 'controllers may no longer create pods',
        series: { [api('create', 'pods', '403')]: '0x4 0+3x10', [api('create', 'pods', '201')]: '50x14' },
        at: '7m',
        told: {
          labels: { verb: 'create', resource: 'pods', code: '403' },
          summary: 'The API server refuses calls of fleet lab (create pods: 403)',
        },
      },
      {
        when: 'half of the calls end in 503 or in no answer',
        series: {
          [api('get', 'pods', '200')]: '0+2x20',
          [api('create', 'pods', '503')]: '0+1x20',
          [api('delete', 'pods', 'timeout')]: '0+1x20',
        },
        at: '7m',
        told: { summary: 'The API server refuses calls of fleet lab' },
      },
    ],
    silent: [
      {
        when: 'a quota is spent, so that some creations are refused beside those that succeed',
        series: { [api('create', 'pods', '403')]: '0+5x20', [api('create', 'pods', '201')]: '0+1x20' },
        at: '7m',
      },
      {
        when: 'one call in ten is throttled, and watches break off as they do',
        series: {
          [api('get', 'pods', '200')]: '0+9x20',
          [api('get', 'pods', '429')]: '0+1x20',
          [api('watch', 'pods', 'broken')]: '0+9x20',
        },
        at: '7m',
      },
    ],
    resolves: [
      {
        when: 'the right is back for five minutes',
        series: {
          [api('list', 'nodes', '403')]: '0+1x10 10x20',
          [api('list', 'nodes', '200')]: '0x10 0+1x20',
        },
        firesAt: '5m',
        goneAt: '11m',
      },
    ],
  },
  PartAway: {
    fires: [
      {
        when: 'the last gateway is no longer scraped, and controllers are',
        series: { [part('gateway')]: '1x4 stale', [part('controller')]: '1x20' },
        at: '5m',
        told: { labels: { component: 'gateway' }, summary: 'Fleet lab has no gateway' },
      },
    ],
    silent: [
      {
        when: 'one of two controllers goes, and the only gateway is away for a minute',
        series: {
          [part('gateway')]: '1x4 stale _ 1x20',
          [part('controller')]: '1x30',
          [part('controller').replace('controller-1', 'controller-2')]: '1x4 stale',
        },
        at: '4m',
      },
    ],
    resolves: [
      {
        when: 'a controller is back',
        series: { [part('gateway')]: '1x30', [part('controller')]: '1x2 stale _x7 1x20' },
        firesAt: '4m',
        goneAt: '6m',
      },
    ],
  },
  GatewayFull: {
    fires: [
      {
        when: 'a gateway holds nine tenths of what it may',
        series: { [held]: '3600x10', [heldLimit]: '4000x10', [lag]: '0.02x10' },
        at: '4m',
        told: {
          labels: { pod: 'g1' },
          summary: 'Gateway g1 of fleet lab has too much to do',
        },
      },
      {
        when: 'its event loop is late',
        series: { [held]: '30x10', [heldLimit]: '4000x10', [lag]: '0.7x10' },
        at: '4m',
        told: { labels: { pod: 'g1' }, summary: 'Gateway g1 of fleet lab has too much to do' },
      },
    ],
    silent: [
      {
        when: 'it holds three quarters, and its loop is late by 0.4 s',
        series: {
          [held]: '3000x10',
          [heldLimit]: '4000x10',
          [lag]: '0.4x10',
          [gatewayFailed('gateway_overloaded')]: '7x10',
        },
        at: '4m',
      },
    ],
    resolves: [
      {
        when: 'a gateway was added, and nobody was refused for five minutes',
        series: {
          [held]: '4000x8 900x20',
          [heldLimit]: '4000x28',
          [gatewayFailed('gateway_overloaded')]: '0+9x8 81x20',
        },
        firesAt: '4m',
        goneAt: '10m',
      },
    ],
  },
  RedisNearlyFull: {
    fires: [
      {
        when: 'Redis uses nine tenths of its maxmemory',
        series: { [memory('used')]: '900x20', [memory('limit')]: '1000x20' },
        at: '6m',
        told: { summary: 'Redis of fleet lab is 90% full' },
      },
    ],
    silent: [
      {
        when: 'it uses three quarters',
        series: { [memory('used')]: '750x20', [memory('limit')]: '1000x20' },
        at: '6m',
      },
      {
        when: 'it has no maxmemory at all',
        series: { [memory('used')]: '900x20', [memory('limit')]: '0x20' },
        at: '6m',
      },
    ],
    resolves: [
      {
        when: 'it was given more memory',
        series: { [memory('used')]: '900x30', [memory('limit')]: '1000x14 2000x16' },
        firesAt: '6m',
        goneAt: '8m',
      },
    ],
  },
  RedisMayEvict: {
    fires: [
      {
        when: 'the Redis that was promoted has another policy, as one process has noticed',
        series: {
          'corral_redis_policy_ok{pod="g1"}': '1x2 0x10',
          'corral_redis_policy_ok{pod="c1"}': '1x12',
        },
        at: '3m',
        told: { summary: 'Redis of fleet lab may forget rollouts when it is short of memory' },
      },
    ],
    silent: [
      {
        when: 'all processes find noeviction',
        series: { 'corral_redis_policy_ok{pod="g1"}': '1x12', 'corral_redis_policy_ok{pod="c1"}': '1x12' },
        at: '3m',
      },
    ],
    resolves: [
      {
        when: 'the policy was set',
        series: { 'corral_redis_policy_ok{pod="g1"}': '0x6 1x10' },
        firesAt: '2m',
        goneAt: '4m',
      },
    ],
  },
  FleetKeyRefused: {
    fires: [
      {
        when: 'sandboxes begin to refuse one gateway',
        series: { [refusals]: '0x4 0+2x20', [refusals.replace('g1', 'g2')]: '0x24' },
        at: '5m',
        told: {
          labels: { pod: 'g1' },
          summary: 'Sandboxes of fleet lab refuse gateway g1: its fleet key is not the controllers’',
        },
      },
    ],
    silent: [
      {
        when: 'some refused it long ago, and none since',
        series: { [refusals]: '12x40' },
        at: '15m',
      },
    ],
    resolves: [
      {
        when: 'ten minutes have passed since it read the right key',
        series: { [refusals]: '0+2x10 20x40' },
        firesAt: '5m',
        goneAt: '16m',
      },
    ],
  },
  EnvironmentsInTrouble: {
    fires: [
      {
        when: 'a gateway cannot use its folder',
        series: { [trouble('g1')]: '0x2 1x20', [trouble('g2')]: '0x22' },
        at: '8m',
        told: {
          labels: { pod: 'g1' },
          summary: 'Fleet lab does not use its newest environments',
        },
      },
      {
        when: 'a controller goes by other environments than all the others',
        series: {
          [trouble('g1')]: '0x20',
          [inForce('g1', 'new')]: '1x20',
          [inForce('c1', 'new')]: '1x20',
          [inForce('c2', 'old')]: '1x20',
        },
        at: '8m',
        told: { summary: 'Fleet lab does not use its newest environments' },
      },
    ],
    silent: [
      {
        when: 'a change takes two minutes to reach every process',
        series: {
          [trouble('g1')]: '0x20',
          [inForce('g1', 'new')]: '1x20',
          [inForce('c1', 'old')]: '1x4 stale',
          [inForce('c1', 'new')]: '_x4 1x20',
        },
        at: '8m',
      },
    ],
    resolves: [
      {
        when: 'the mistake was fixed',
        series: { [trouble('g1')]: '1x14 0x10' },
        firesAt: '6m',
        goneAt: '8m',
      },
    ],
  },
  GradersFail: {
    fires: [
      {
        when: 'three grades fail within a minute',
        series: { [gatewayFailed('grader_failed')]: '0x10 1 3x20' },
        at: '8m',
        told: { summary: '3 grades of fleet lab failed in a quarter of an hour' },
      },
      {
        when: 'a judge scores a canary wrongly while three grades wait',
        series: { [gatewayFailed('judge_suspect')]: '0x10 3x20' },
        at: '8m',
        told: { summary: '3 grades of fleet lab failed in a quarter of an hour' },
      },
    ],
    silent: [
      {
        when: 'two fail',
        series: { [gatewayFailed('grader_failed')]: '0x10 1 2x20' },
        at: '8m',
      },
    ],
    resolves: [
      {
        when: 'a quarter of an hour has passed without another',
        series: { [gatewayFailed('grader_failed')]: '0x10 9x50' },
        firesAt: '8m',
        goneAt: '21m',
      },
    ],
  },
  EventsDropped: {
    fires: [
      {
        when: 'a gateway drops seven events',
        series: { [dropped]: '0x10 7x20' },
        at: '6m',
        told: { labels: { pod: 'g1' }, summary: '7 events of g1 (fleet lab) are in no log' },
      },
    ],
    silent: [{ when: 'it dropped some yesterday', series: { [dropped]: '7x40' }, at: '18m' }],
    resolves: [
      {
        when: 'none was dropped for a quarter of an hour',
        series: { [dropped]: '0x4 7x50' },
        firesAt: '6m',
        goneAt: '18m',
      },
    ],
  },
  TrajectoriesDropped: {
    fires: [
      {
        when: 'a gateway gives up a segment of nine lines',
        series: { [notStored]: '0x10 9x20' },
        at: '6m',
        told: { labels: { pod: 'g1' }, summary: '9 lines of g1 (fleet lab) are not in the trajectory store' },
      },
    ],
    silent: [{ when: 'it gave one up yesterday', series: { [notStored]: '9x40' }, at: '18m' }],
    resolves: [
      {
        when: 'every segment was stored for a quarter of an hour',
        series: { [notStored]: '0x4 9x50' },
        firesAt: '6m',
        goneAt: '18m',
      },
    ],
  },
  LogTooShort: {
    fires: [
      {
        when: 'a gateway writes 6 GB of kept rollouts an hour into 4 GiB',
        series: { [keptLimit]: '4294967296x600', [keptWritten]: '0+50000000x600' },
        at: '4h',
        told: {
          labels: { pod: 'g1', log: 'kept' },
          summary: 'The log kept of g1 (fleet lab) keeps lines for 42m 56s only',
        },
      },
    ],
    silent: [
      {
        when: 'a log of 4 GiB lasts for two days',
        series: { [keptLimit]: '4294967296x800', [keptWritten]: '0+745654x800' },
        at: '6h',
      },
      {
        when: 'a burst of ten minutes would fill it in three hours',
        series: { [keptLimit]: '4294967296x800', [keptWritten]: '0x400 0+12000000x20 240000000x380' },
        at: '6h',
      },
    ],
    resolves: [
      {
        when: 'the run is over for three hours',
        series: { [keptLimit]: '4294967296x1200', [keptWritten]: '0+50000000x400 20000000000x800' },
        firesAt: '3h',
        goneAt: '7h',
      },
    ],
  },
  Unclassified: {
    fires: [
      {
        when: 'a controller’s launch fails with an error that nobody classified',
        series: { [controllerFailed('unclassified')]: '0x10 1x20' },
        at: '6m',
        told: {
          labels: { component: 'controller' },
          summary: '1 failures of fleet lab’s controllers are unclassified',
        },
      },
      {
        when: 'a gateway’s request does',
        series: { [gatewayFailed('unclassified')]: '0x10 1x20' },
        at: '6m',
        told: {
          labels: { component: 'gateway' },
          summary: '1 failures of fleet lab’s gateways are unclassified',
        },
      },
    ],
    silent: [
      {
        when: 'much fails, and all of it has a name',
        series: {
          [gatewayFailed('unclassified')]: '0x40',
          [gatewayFailed('sandbox_lost')]: '0+9x40',
          [controllerFailed('start_failed')]: '0+9x40',
        },
        at: '6m',
      },
    ],
    resolves: [
      {
        when: 'a quarter of an hour has passed without another',
        series: { [gatewayFailed('unclassified')]: '0x4 1x50' },
        firesAt: '6m',
        goneAt: '18m',
      },
    ],
  },
} as const satisfies Readonly<Record<keyof typeof machineryAlerts, Stories>>;
