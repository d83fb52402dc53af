import type { sandboxAlerts } from '#infra/monitoring/rules/alerts/sandboxes.ts';
import type { Series, Stories } from '../story.ts';

const template = 'aaaaaaaaaaaa';
const pool = (state: string, pod = 'c1') =>
  `corral_fleet_pool{pod="${pod}",template="${template}",state="${state}"}`;
const most = `corral_fleet_pool_limit{pod="c1",template="${template}",kind="max"}`;
const started = 'corral_launches_total{pod="c1",type="cold",result="ready"}';
const breaker = `corral_fleet_breaker_open{pod="c1",template="${template}"}`;
const named = (environment: string) =>
  `corral_fleet_template_info{pod="c1",template="${template}",environment="${environment}"}`;
const refused = (code: string) =>
  `corral_gateway_failures_total{pod="g1",face="rft",blame="infrastructure",code="${code}"}`;
const lost = (cause: string, pod = 'c1', effect = 'tainted') =>
  `corral_sandboxes_lost_total{pod="${pod}",cause="${cause}",effect="${effect}"}`;

const roomFor40: Series = { [pool('ready')]: '0x40', [pool('held')]: '20x40', [most]: '40x40' };

const bucket = (le: string) =>
  `corral_obtain_seconds_bucket{pod="g1",environment="shell",launch="warm",le="${le}"}`;
const allObtained = 'corral_obtain_seconds_count{pod="g1",environment="shell",launch="warm"}';

/** Rollouts that got a warm sandbox, `each` step; of them `late` after more than a second. */
const obtained = (each: number, late: number): Series => {
  const quick = each - late;
  return {
    [bucket('0.5')]: `0+${quick}x60`,
    [bucket('1')]: `0+${quick}x60`,
    [bucket('2')]: `0+${each}x60`,
    [bucket('+Inf')]: `0+${each}x60`,
    [allObtained]: `0+${each}x60`,
  };
};

export const sandboxStories = {
  LineStandsStill: {
    fires: [
      {
        when: 'rollouts wait, there is room, and nothing starts; two controllers say it once',
        series: {
          ...roomFor40,
          [pool('waiting')]: '0 12x40',
          [pool('waiting', 'c2')]: '0 12x40',
          [started]: '7x40',
        },
        at: '10m',
        told: {
          labels: { template },
          summary: `12 rollouts of fleet lab wait for a sandbox (template ${template}), and none has started for five minutes`,
        },
      },
    ],
    silent: [
      {
        when: 'they wait, and every four minutes a sandbox becomes ready',
        series: { ...roomFor40, [pool('waiting')]: '0 12x40', [started]: '0x8 1x8 2x8 3x8 4x8' },
        at: '15m',
      },
      {
        when: 'they wait because the pool is full',
        series: {
          [pool('ready')]: '0x40',
          [pool('held')]: '40x40',
          [most]: '40x40',
          [pool('waiting')]: '0 12x40',
          [started]: '40x40',
        },
        at: '15m',
      },
      {
        when: 'they wait for a template that cannot start, which has an alert of its own',
        series: { ...roomFor40, [pool('waiting')]: '0 12x40', [started]: '7x40', [breaker]: '1x40' },
        at: '15m',
      },
    ],
    resolves: [
      {
        when: 'sandboxes start again, though the line is not empty yet',
        series: { ...roomFor40, [pool('waiting')]: '0 12x40', [started]: '7x22 8 9 10 11 12 13 14 15 15x10' },
        firesAt: '10m',
        goneAt: '12m',
      },
    ],
  },
  PoolFull: {
    fires: [
      {
        when: 'rollouts wait for a quarter of an hour, and the pool has all that it may have',
        series: {
          [pool('ready')]: '0x40',
          [pool('launching')]: '3x40',
          [pool('held')]: '37x40',
          [most]: '40x40',
          [pool('waiting')]: '9x40',
        },
        at: '15m',
        told: {
          labels: { template },
          summary: `9 rollouts of fleet lab wait, and template ${template} has all sandboxes that it may have`,
        },
      },
    ],
    silent: [
      {
        when: 'the pool is full and nobody waits',
        series: { [pool('held')]: '40x40', [most]: '40x40', [pool('waiting')]: '0x40' },
        at: '15m',
      },
      {
        when: 'a burst fills it, and its line is gone after nine minutes',
        series: { [pool('held')]: '40x40', [most]: '40x40', [pool('waiting')]: '9x18 0x22' },
        at: '15m',
      },
    ],
    resolves: [
      {
        when: 'the maximum was raised',
        series: { [pool('held')]: '40x40', [most]: '40x30 80x10', [pool('waiting')]: '9x40' },
        firesAt: '14m',
        goneAt: '16m',
      },
    ],
  },
  NoSandboxInTime: {
    fires: [
      {
        when: 'two requests in different gateways waited in vain',
        series: {
          [refused('capacity_timeout')]: '0x20 1x20',
          [refused('capacity_timeout').replace('g1', 'g2')]: '0x20 1x20',
        },
        at: '11m',
        told: {
          labels: { code: 'capacity_timeout' },
          summary: '2 requests of fleet lab got no sandbox in time (capacity_timeout)',
        },
      },
    ],
    silent: [
      {
        when: 'requests are told that their call still runs, and others failed for other reasons',
        series: { [refused('still_running')]: '0+1x40', [refused('sandbox_lost')]: '0+1x40' },
        at: '11m',
      },
    ],
    resolves: [
      {
        when: 'nobody was told so for ten minutes',
        series: { [refused('line_full')]: '0x10 5x40' },
        firesAt: '10m',
        goneAt: '16m',
      },
    ],
  },
  TemplateCannotStart: {
    fires: [
      {
        when: 'a breaker is open, told by two controllers',
        series: {
          [breaker]: '0x4 1x20',
          [breaker.replace('c1', 'c2')]: '0x4 1x20',
          [named('shell')]: '1x24',
        },
        at: '4m',
        told: {
          labels: { template, environment: 'shell' },
          summary: `Sandboxes of environment shell do not start in fleet lab (template ${template})`,
        },
      },
      {
        when: 'a breaker is open of a version that no environment has any more',
        series: { [breaker]: '0x4 1x20', 'corral_fleet_template_info{template="b",environment="b"}': '1x24' },
        at: '4m',
        told: {
          labels: { template },
          summary: `Sandboxes of environment  do not start in fleet lab (template ${template})`,
        },
      },
    ],
    silent: [
      {
        when: 'a breaker opens for half a minute',
        series: { [breaker]: '0x4 1 0x20', [named('shell')]: '1x24' },
        at: '4m',
      },
    ],
    resolves: [
      {
        when: 'a start has succeeded, and two environments share the template',
        series: { [breaker]: '1x10 0x10', [named('shell')]: '1x20', [named('shell-2')]: '1x20' },
        firesAt: '4m',
        goneAt: '6m',
      },
    ],
  },
  SandboxesLost: {
    fires: [
      {
        when: 'a node takes four rollouts with it, of which two controllers tell two each',
        series: { [lost('node_lost')]: '0x20 2x20', [lost('node_lost', 'c2')]: '0x20 2x20' },
        at: '12m',
        told: {
          labels: { cause: 'node_lost' },
          summary: '4 rollouts of fleet lab lost their sandbox (node_lost)',
        },
      },
    ],
    silent: [
      {
        when: 'two are lost for one cause, two for another, and many before their first call',
        series: {
          [lost('evicted')]: '0x20 2x20',
          [lost('deleted')]: '0x20 2x20',
          [lost('node_lost', 'c1', 'swapped')]: '0x20 30x20',
        },
        at: '12m',
      },
      {
        when: 'a policy kills what runs in its sandbox, again and again',
        series: { [lost('sandboxd_killed')]: '0+1x40', [lost('out_of_memory', 'c1', 'broken')]: '0+1x40' },
        at: '12m',
      },
    ],
    resolves: [
      {
        when: 'a quarter of an hour has passed without another',
        series: { [lost('preempted')]: '0x10 6x50' },
        firesAt: '10m',
        goneAt: '21m',
      },
    ],
  },
  SlowSandbox: {
    fires: [
      {
        when: 'one warm sandbox in twenty takes more than a second',
        series: obtained(20, 1),
        at: '20m',
        told: {
          labels: { environment: 'shell' },
          summary: 'A sandbox that was ready took up to 1.8s to hand over in environment shell of fleet lab',
        },
      },
    ],
    silent: [
      { when: 'all of them take less than half a second', series: obtained(20, 0), at: '20m' },
      {
        when: 'cold ones take long, as they do',
        series: Object.fromEntries(
          Object.entries(obtained(20, 20)).map(([name, values]) => [name.replace('warm', 'cold'), values]),
        ),
        at: '20m',
      },
    ],
    resolves: [
      {
        when: 'ten minutes have passed in which all were quick',
        series: {
          ...obtained(20, 0),
          [bucket('0.5')]: '0+19x30 590+20x40',
          [bucket('1')]: '0+19x30 590+20x40',
          [bucket('2')]: '0+20x71',
          [bucket('+Inf')]: '0+20x71',
          [allObtained]: '0+20x71',
        },
        firesAt: '15m',
        goneAt: '27m',
      },
    ],
  },
} as const satisfies Readonly<Record<keyof typeof sandboxAlerts, Stories>>;
