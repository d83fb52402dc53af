import { type Dashboard, lines, type Row, stacked, stat } from './definition.ts';
import {
  byEnvironment,
  halfAndSlowest,
  inAll,
  newest,
  ofEnvironment,
  one,
  perSecond,
  quantile,
  series,
  share,
  shareOf,
  sum,
  thatHappens,
} from './queries.ts';

const verdicts = 'corral_verdicts_total';
const calls = 'corral_calls_settled_total';
const ofCalls = (...codes: readonly string[]) => ({
  part: [`code=~"${codes.join('|')}"`],
  ofAll: [ofEnvironment],
});

const headline: Row = {
  title: 'At a glance',
  panels: [
    stat('Rollouts that ended', 'count', {
      reading: 'Verdicts on rollouts of this environment, in the time that is looked at.',
      todo: 'None although a job runs: it fails before its first rollout. `corral preflight` shows where.',
      limits: { none: 'how many end is up to the trainers' },
      queries: one(`round (${sum([], inAll(verdicts, ofEnvironment))})`),
    }),
    stat('Scorable', 'share', {
      reading: 'Of the rollouts that their trainer did not give up, those it may learn from.',
      todo: 'Whose failure has the others’ codes.',
      limits: {
        below: 'red',
        steps: [
          {
            from: 0.98,
            colour: 'yellow',
            because: 'below it one in seven groups of eight is short of a rollout',
          },
          {
            from: 0.995,
            colour: 'green',
            because: 'we may lose 0.001, and what policies break comes on top',
          },
        ],
      },
      queries: one(
        shareOf(inAll, verdicts, [], {
          part: ['verdict="scorable"'],
          ofAll: [ofEnvironment, 'blame!="caller"'],
        }),
      ),
    }),
    stat('Tool calls for each rollout', 'count', {
      reading: 'Calls that settled, for each rollout that ended.',
      todo: 'Falls towards 1: the model gives up, or cannot use its tools. Near the budget of `tool_calls`: it goes round in circles.',
      limits: { none: 'how many a task needs, its author knows' },
      queries: one(share(sum([], inAll(calls, ofEnvironment)), sum([], inAll(verdicts, ofEnvironment)))),
    }),
    stat('Overhead of a call', 'seconds', {
      reading: 'Of 99 calls in 100: time that was neither the command’s own nor spent waiting for a sandbox.',
      todo: 'Machinery: gateways’ event loops, Redis, CPU of the nodes.',
      limits: {
        below: 'green',
        steps: [
          { from: 0.1, colour: 'yellow', because: 'an idle fleet adds some milliseconds' },
          { from: 1, colour: 'red', because: 'a rollout of fifty calls takes a minute longer' },
        ],
      },
      queries: one(quantile(0.99, 'corral_call_seconds', [], 'part="overhead"', ofEnvironment)),
    }),
  ],
};

const toolCalls: Row = {
  title: 'Tool calls',
  panels: [
    stacked('Tool calls by outcome', 'perSecond', {
      reading: 'By outcome. `refused`: nothing ran, and the model read why.',
      todo: '`infrastructure_failure` is ours, see Whose failure. `timed_out`: commands, or their timeout.',
      limits: { none: 'outcomes of a model’s own are what training is about' },
      queries: one(sum(['outcome'], perSecond(calls, ofEnvironment)), '{{outcome}}'),
    }),
    stacked('Model failures by code', 'perMinute', {
      reading:
        'Calls with a code and blame `model`. A command that ends with an exit code of its own has none.',
      todo: '`bad_arguments`, `unknown_tool`: the tool’s description. `sandbox_broken`: the last commands, `corral run ID`.',
      limits: { none: 'see the shares next to and below it' },
      needs: 'event',
      queries: one(thatHappens(['code'], calls, 'blame="model"', ofEnvironment), '{{code}}'),
    }),
    lines('Call duration by part', 'seconds', {
      reading:
        'Of calls that their sandbox answered. `waited`: until the rollout had its sandbox. `command`: it ran. `overhead`: all the rest.',
      todo: 'Waited: Bursts and pools. Command: the policy, or too little CPU in `sandbox`. Overhead: Machinery.',
      limits: { none: 'how long commands take is up to the policy' },
      queries: halfAndSlowest('corral_call_seconds', ['part'], ofEnvironment),
    }),
    lines('Calls over a limit', 'share', {
      reading:
        'The share of all calls that timed out, ran out of memory, or exceeded the limit of calls or time.',
      todo: 'High from the first step: the environment’s `limits` are too narrow for its tasks. Rising with training: the policy’s own.',
      limits: {
        below: 'green',
        steps: [
          {
            from: 0.05,
            colour: 'yellow',
            because: 'in a group of eight some rollout meets it at every step',
          },
          { from: 0.2, colour: 'red', because: 'the bound, not the task, decides the reward' },
        ],
      },
      queries: [
        { expr: shareOf(perSecond, calls, [], ofCalls('command_timeout')), legend: 'timed out' },
        { expr: shareOf(perSecond, calls, [], ofCalls('command_out_of_memory')), legend: 'out of memory' },
        {
          expr: shareOf(perSecond, calls, [], ofCalls('budget_spent', 'time_spent')),
          legend: 'calls or time spent',
        },
        { expr: shareOf(perSecond, calls, [], ofCalls('too_many_at_once')), legend: 'too many at once' },
      ],
    }),
  ],
};

const recordedMean = (name: string): string => `max (${series(name, ofEnvironment)})`;

const grades: Row = {
  title: 'Verdicts and grades',
  panels: [
    stacked('Verdicts', 'perMinute', {
      reading: 'By what the trainer may do, and the code of a discard.',
      todo: 'Look a code up in docs/failures.md.',
      limits: { none: 'the share at the top judges' },
      queries: one(thatHappens(['verdict', 'code'], verdicts, ofEnvironment), '{{verdict}} {{code}}'),
    }),
    lines('Grade duration', 'seconds', {
      reading: 'From the begin of a grader’s turn until its score was stored, or the turn failed.',
      todo: 'Near `limits.grade`: the next ones fail. Make the grader faster, or give it more time.',
      limits: {
        below: 'green',
        steps: [
          { from: 60, colour: 'yellow', because: 'the trainer’s step waits for its slowest grade' },
          {
            from: 240,
            colour: 'red',
            because: 'its request is held 540 s, and waits for a sandbox and its calls before',
          },
        ],
      },
      queries: halfAndSlowest('corral_grade_seconds', [], ofEnvironment),
    }),
    lines('Mean reward, and with discards as zeros', 'count', {
      reading:
        'Of the last hour. `if zeroed`: the mean with each infrastructure discard as a 0, as a trainer that masks nothing would learn it. Rollouts that callers discarded or voided are in neither.',
      todo: 'The gap is what infrastructure failures would cost such a trainer: check that yours leaves discards out, then Whose failure.',
      limits: { none: 'what a reward means, its author knows' },
      queries: [
        { expr: recordedMean('corral:reward:mean1h'), legend: 'mean' },
        { expr: recordedMean('corral:reward_if_zeroed:mean1h'), legend: 'if zeroed' },
      ],
    }),
    stacked('Judge requests by code', 'perMinute', {
      reading:
        'Requests to judges of `http` graders: `ok`, or a failure code. Of all environments, since judges are shared.',
      todo: 'Failures: the judge is away, slow or refuses. No score is made up: rollouts wait, and then are discarded.',
      limits: { none: 'a request that fails is sent again' },
      needs: 'event',
      queries: one(thatHappens(['code'], 'corral_judge_requests_total'), '{{code}}'),
    }),
  ],
};

const pool = 'corral_fleet_pool';
const sandboxes: Row = {
  title: 'Its sandboxes',
  panels: [
    lines('Wait for a sandbox, warm and cold', 'seconds', {
      columns: 8,
      reading: 'From the pool (`warm`), or one that had to start (`cold`).',
      todo: 'Many cold ones: raise `pool.min_ready`, or let the trainer announce its bursts.',
      limits: {
        below: 'green',
        steps: [
          { from: 1, colour: 'yellow', because: 'a warm one takes some milliseconds' },
          { from: 60, colour: 'red', because: 'a cold one takes less, unless its image is pulled' },
        ],
      },
      queries: halfAndSlowest('corral_obtain_seconds', ['launch'], ofEnvironment),
    }),
    lines('Its pool', 'count', {
      columns: 8,
      reading:
        'Sandboxes by state, and rollouts that wait for one. Environments with the same template share it.',
      todo: 'Waiting while held stands at the maximum: raise `pool.max`.',
      limits: { none: 'how full it is, Bursts and pools judges' },
      queries: ['held', 'ready', 'launching', 'waiting'].map((state) => ({
        expr: byEnvironment(pool, `state="${state}"`),
        legend: state,
      })),
    }),
    stacked('Sandbox time by use', 'count', {
      columns: 8,
      reading:
        'How many there are on average, by what became of them; counted when they end or change their state.',
      todo: 'Much `ready`: lower `pool.min_ready`. Much `discarded`: Whose failure.',
      limits: { none: 'Bursts and pools judges the shares' },
      queries: one(
        `sum by (state) (${newest(['environment', 'state'], perSecond('corral_fleet_sandbox_seconds_total', ofEnvironment))})`,
        '{{state}}',
      ),
    }),
  ],
};

export const oneEnvironment: Dashboard = {
  uid: 'corral-one-environment',
  title: 'Corral / One environment',
  description: 'For the RL engineer and the environment’s author: how its calls, grades and sandboxes do.',
  environments: 'one',
  rows: [headline, toolCalls, grades, sandboxes],
};
