import { type Dashboard, heatmap, type Limits, lines, type Row, stacked, stat } from './definition.ts';
import {
  byEnvironment,
  halfAndSlowest,
  inAll,
  newest,
  ofEnvironment,
  ofFleet,
  one,
  overEnvironments,
  perSecond,
  share,
  sum,
  thatHappens,
} from './queries.ts';

const pool = 'corral_fleet_pool';
const state = (name: string) => `state="${name}"`;
const budget = (kind: string) => `sum (${ofFleet('corral_fleet_start_budget', [], `kind="${kind}"`)})`;

const longestWait: Limits = {
  below: 'green',
  steps: [
    { from: 30, colour: 'yellow', because: 'a start takes less, on a node that has the image' },
    { from: 200, colour: 'red', because: 'after 300 s the request fails, and its trainer must retry' },
  ],
};

const headline: Row = {
  title: 'Waiting',
  panels: [
    stat('Rollouts that wait', 'count', {
      reading: 'Rollouts without a sandbox whose trainers hold a request open for one.',
      todo: 'A burst waits for seconds: look at how long. Launches that end say whether it moves at all.',
      limits: { none: 'the burst decides how many wait; the fleet decides how long' },
      queries: one(`sum (${ofFleet(pool, ['template'], state('waiting'))})`),
    }),
    stat('Longest wait', 'seconds', {
      reading: 'The oldest wait in any queue.',
      todo: 'Held at the maximum: raise `pool.max` or add machines. Launches behind: raise the start budget or `pool.min_ready`, or let trainers announce bursts.',
      limits: longestWait,
      queries: one(`max (${ofFleet('corral_fleet_line_oldest_seconds', ['template'])})`),
    }),
    stat('Start budget in use', 'share', {
      reading: 'The share of start slots in use.',
      todo: 'Short peaks of 100 % are normal. If it stays there while rollouts wait, raise `controller.startBudget`.',
      limits: {
        below: 'green',
        steps: [{ from: 0.9, colour: 'yellow', because: 'from here on launches wait for each other' }],
      },
      queries: one(`${budget('used')} / (${budget('limit')} > 0)`),
    }),
    stat('Templates that start no sandboxes', 'count', {
      reading:
        'Ten starts in a row failed, or three that could only fail; one try every 30 s finds out when that is over.',
      todo: 'The panel below names the environment: its image, pull secret or `prepare` is wrong. Run `corral preflight ENVIRONMENT`.',
      limits: {
        below: 'green',
        steps: [{ from: 1, colour: 'red', because: 'its rollouts wait until they are discarded' }],
      },
      queries: one(`sum (${ofFleet('corral_fleet_breaker_open', ['template'])})`),
    }),
  ],
};

const bursts: Row = {
  title: 'Bursts',
  panels: [
    stacked('Waiting rollouts by environment', 'count', {
      reading:
        'Waiting rollouts, by environment. Environments that share a template share its queue, and each shows all of it.',
      todo: 'A triangle is a burst that is served. A plateau is one that is not: look at the launches.',
      limits: { none: 'the burst decides how many wait; the fleet decides how long' },
      queries: one(byEnvironment(pool, state('waiting')), '{{environment}}'),
    }),
    lines('Longest wait by environment', 'seconds', {
      reading: 'The oldest wait of each environment.',
      todo: 'One environment: its `pool.max`, or its image. All of them: start budget, nodes, quota.',
      limits: longestWait,
      queries: one(
        overEnvironments('max', ofFleet('corral_fleet_line_oldest_seconds', ['template'])),
        '{{environment}}',
      ),
    }),
    lines('Wait for a sandbox, warm and cold', 'seconds', {
      reading:
        'From a rollout’s first call to its sandbox: from the pool (`warm`), or one that had to start (`cold`).',
      todo: 'Warm is slow: look at Machinery, Redis and gateways. Cold is slow: look at launches below; images cached on nodes help most.',
      limits: {
        below: 'green',
        steps: [
          { from: 1, colour: 'yellow', because: 'a warm one takes some milliseconds' },
          { from: 60, colour: 'red', because: 'a cold one takes less, unless its image is pulled' },
        ],
      },
      queries: halfAndSlowest('corral_obtain_seconds', ['launch'], ofEnvironment),
    }),
    heatmap('Distribution of waits for a sandbox', 'seconds', {
      reading: 'Each column is the first calls of that time, each row how long they waited.',
      todo: 'Two bands are warm and cold. A rising cloud is a growing queue.',
      limits: { none: 'see the panel next to it' },
      queries: one(sum(['le'], perSecond('corral_obtain_seconds_bucket', ofEnvironment)), '{{le}}'),
    }),
  ],
};

const ofPool = `sum by (namespace, fleet, template) (${ofFleet(pool, ['template', 'state'], 'state=~"ready|launching|held"')})`;
const pools: Row = {
  title: 'Pools',
  panels: [
    stacked('Sandboxes by state', 'count', {
      columns: 8,
      reading: 'Of all templates: held by rollouts, ready for some, or launching.',
      todo: 'Many ready for long: `pool.min_ready` is too high. Launching that never becomes ready: look at launches.',
      limits: { none: 'how many there are is up to the trainers' },
      queries: one(
        `sum by (state) (${ofFleet(pool, ['template', 'state'], 'state=~"ready|launching|held"')})`,
        '{{state}}',
      ),
    }),
    lines('Pool usage by environment', 'share', {
      columns: 8,
      reading: 'Sandboxes of an environment’s template, of the most that it may have.',
      todo: 'Raise `pool.max`, if there are machines for it; or let the trainer open fewer rollouts at once.',
      limits: {
        below: 'green',
        steps: [
          { from: 0.9, colour: 'yellow', because: 'the next burst will not fit' },
          { from: 1, colour: 'red', because: 'the next rollout waits until another ends' },
        ],
      },
      queries: one(
        overEnvironments(
          'max',
          `(${ofPool} / ${ofFleet('corral_fleet_pool_limit', ['template'], 'kind="max"')})`,
        ),
        '{{environment}}',
      ),
    }),
    lines('Ready and announced sandboxes', 'count', {
      columns: 8,
      reading: 'Free sandboxes, and sandboxes for announced bursts (`POST /v1/prewarm`).',
      todo: 'Ready stays below: the announcement came too late, or the pool’s maximum or the start budget is in the way.',
      limits: { none: 'between announcement and burst it is meant to differ' },
      queries: [
        { expr: byEnvironment(pool, state('ready')), legend: '{{environment}} ready' },
        { expr: byEnvironment(pool, state('announced')), legend: '{{environment}} announced' },
      ],
    }),
  ],
};

const launches: Row = {
  title: 'Launches',
  panels: [
    stacked('Launches by result', 'perMinute', {
      reading: 'By type: into the pool (`warm`), for a waiting rollout (`cold`), or `failed`, with its code.',
      todo: 'Look a code up in docs/failures.md. Of one template show it to its author, of all look at the provider.',
      limits: {
        none: 'a failed launch is retried; ten in a row, or three that could only fail, are shown above',
      },
      queries: one(thatHappens(['type', 'result'], 'corral_launches_total'), '{{type}} {{result}}'),
    }),
    heatmap('Launch duration', 'seconds', {
      reading: 'Time from a start slot to ready, for sandboxes that became ready.',
      todo: 'Slower than usual: a new image that nodes pull, `prepare` that grew, or nodes with too much to do.',
      limits: { none: 'a start is as slow as its image; the first calls above judge it' },
      queries: one(
        sum(['le'], perSecond('corral_launch_duration_seconds_bucket', 'type=~"warm|cold"')),
        '{{le}}',
      ),
    }),
    lines('Starts at once', 'count', {
      columns: 8,
      reading: 'The start budget of the fleet, and what is used of it.',
      todo: 'Used at the limit while rollouts wait: raise `controller.startBudget`, if the cluster takes more at once.',
      limits: { none: 'the share above judges it' },
      queries: [
        { expr: budget('used'), legend: 'starting' },
        { expr: budget('limit'), legend: 'may start' },
      ],
    }),
    lines('Launch queue by state', 'count', {
      columns: 8,
      reading: 'Launches in the queue, by state. Each is one sandbox that has a start slot.',
      todo: '`wait` that grows: controllers are away, or their own steps fail; look at Machinery.',
      limits: { none: 'a burst fills it and it empties by itself' },
      queries: one(`sum by (state) (${ofFleet('corral_fleet_launch_queue', ['state'])})`, '{{state}}'),
    }),
    lines('Stopped launches by environment', 'yesNo', {
      columns: 8,
      reading:
        'Whether launches of the environment’s template are stopped because ten in a row have failed, or three that could only fail.',
      todo: '`corral preflight ENVIRONMENT` shows its author what is wrong.',
      limits: {
        below: 'green',
        steps: [{ from: 1, colour: 'red', because: 'its rollouts wait until they are discarded' }],
      },
      queries: one(
        overEnvironments('max', ofFleet('corral_fleet_breaker_open', ['template'])),
        '{{environment}}',
      ),
    }),
  ],
};

const sandboxSeconds = 'corral_fleet_sandbox_seconds_total';
/** Seconds of sandboxes in the whole time that is looked at. */
const spent = (...matchers: readonly string[]) =>
  `sum (${newest(['environment', 'state'], inAll(sandboxSeconds, ofEnvironment, ...matchers))})`;
/** Of these the share of one state, which is 0 where there was none. */
const spentShare = (name: string) => share(`(${spent(state(name))} or 0 * ${spent()})`, spent());

const cost: Row = {
  title: 'Cost',
  panels: [
    stat('Sandbox hours', 'hours', {
      columns: 5,
      rows: 8,
      reading: 'All sandboxes together, in the time that is looked at.',
      todo: 'Multiply by the cost of a sandbox hour on your nodes.',
      limits: { none: 'work costs; the shares next to it show how much was idle' },
      queries: one(`${spent()} / 3600`),
    }),
    stat('Hours that were discarded', 'share', {
      columns: 5,
      rows: 8,
      reading: 'Of these hours, those of rollouts that ended in a discard.',
      todo: 'Whose failure has who discarded them. Long rollouts that are lost late cost most.',
      limits: {
        below: 'green',
        steps: [
          { from: 0.02, colour: 'yellow', because: 'the objective admits a thousandth of the rollouts' },
          { from: 0.1, colour: 'red', because: 'a tenth of the bill is for nothing' },
        ],
      },
      queries: one(spentShare('discarded')),
    }),
    stat('Hours that were idle', 'share', {
      columns: 5,
      rows: 8,
      reading: 'The share of these hours in which sandboxes were ready and unused.',
      todo: 'Lower `pool.min_ready` of environments that are seldom used, and let trainers announce their bursts instead.',
      limits: {
        below: 'green',
        steps: [{ from: 0.5, colour: 'yellow', because: 'more is kept for bursts than bursts use' }],
      },
      queries: one(spentShare('ready')),
    }),
    stacked('Sandbox time by use', 'count', {
      columns: 9,
      reading:
        'How many there are on average, by what became of them. A sandbox is counted when it ends or changes its state, so long rollouts come in steps.',
      todo: 'Time that is neither scored nor needed for the next burst can be saved.',
      limits: { none: 'see the shares next to it' },
      queries: one(
        `sum by (state) (${newest(['environment', 'state'], perSecond(sandboxSeconds, ofEnvironment))})`,
        '{{state}}',
      ),
    }),
  ],
};

export const burstsAndPools: Dashboard = {
  uid: 'corral-bursts-and-pools',
  title: 'Corral / Bursts and pools',
  description: 'For capacity planning: do rollouts wait for sandboxes, why, and what do free sandboxes cost.',
  environments: 'several',
  rows: [headline, bursts, pools, launches, cost],
};
