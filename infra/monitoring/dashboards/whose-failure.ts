import { type Dashboard, type Limits, lines, type Row, stacked, stat, table } from './definition.ts';
import { inAll, ofEnvironment, one, perMinute, perSecond, shareOf, sum, thatHappens } from './queries.ts';

// What the objectives are about: at most one rollout, and one tool call, in a thousand fails by us.

const verdicts = 'corral_verdicts_total';
const calls = 'corral_calls_settled_total';
const byUs = 'blame="infrastructure"';

/** A rollout that its trainer gave up says nothing about us, neither good nor bad. */
const rolloutsOfAll = [ofEnvironment, 'blame!="caller"'];
const lostByUs = { part: ['verdict="discard"', byUs, 'suspected="none"'], ofAll: rolloutsOfAll };
const lostShare = shareOf(inAll, verdicts, [], lostByUs);

const objective: Limits = {
  below: 'green',
  steps: [
    { from: 0.001, colour: 'yellow', because: 'the objective is one in a thousand' },
    { from: 0.0144, colour: 'red', because: 'at this rate a month’s budget is gone in two days' },
  ],
};

const headline: Row = {
  title: 'Summary',
  panels: [
    stat('Scorable rollouts', 'share', {
      reading:
        'The share of ended rollouts that trainers may learn from, not counting rollouts that they gave up.',
      todo: 'The next row shows who caused the rest. Only blame `infrastructure` is the operator’s.',
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
            because: 'the objective allows 0.1 % lost, and policies break some in addition',
          },
        ],
      },
      queries: one(shareOf(inAll, verdicts, [], { part: ['verdict="scorable"'], ofAll: rolloutsOfAll })),
    }),
    stat('Rollouts lost to infrastructure', 'share', {
      reading: 'Rollouts discarded because of the infrastructure, without a suspected command of the policy.',
      todo: '`corral rollouts --verdict discard` lists them; the next row shows what they have in common.',
      limits: objective,
      queries: one(lostShare),
    }),
    stat('Calls failed by infrastructure', 'share', {
      reading:
        'The share of all settled tool calls that ended in an infrastructure failure. The alert leaves out those with a suspected command of the policy.',
      todo: 'Find the code in the row of tool calls; docs/failures.md has the fix.',
      limits: objective,
      queries: one(shareOf(inAll, calls, [], { part: [byUs], ofAll: [ofEnvironment] })),
    }),
    stat('Groups hurt at this rate', 'share', {
      reading:
        'Groups of eight that lose at least one rollout, 1 − (1 − p)⁸. A trainer drops such a group, or learns from a wrong baseline.',
      todo: 'Tell the RL team to check the training steps of this time.',
      limits: {
        below: 'green',
        steps: [
          { from: 0.01, colour: 'yellow', because: 'the objective hurts 0.8 % of the groups' },
          { from: 0.1, colour: 'red', because: 'one group in ten: a training step is visibly smaller' },
        ],
      },
      queries: one(`1 - (1 - ${lostShare}) ^ 8`),
    }),
  ],
};

/** Recorded, since three days of samples are too many for a picture; the alerts look at the same. */
const burn = (window: string) => ({
  expr: `max (corral:rollouts_lost:ratio_rate${window}{namespace=~"$namespace",fleet=~"$fleet"}) / 0.001`,
  legend: window,
});

const rollouts: Row = {
  title: 'Rollouts',
  panels: [
    stacked('Finished rollouts by verdict', 'perMinute', {
      reading: 'Verdicts by what the trainer may do with them, and by blame.',
      todo: '`discard infrastructure` is the fleet’s, `discard caller` the job’s. A policy’s bad work is scorable.',
      limits: { none: 'how many rollouts end is up to the trainers' },
      queries: one(perMinute(['verdict', 'blame'], verdicts, ofEnvironment), '{{verdict}} {{blame}}'),
    }),
    lines('Burn rate of lost rollouts', 'times', {
      reading:
        'Rollouts lost to infrastructure failures against the objective of 0.1 %, over windows of time: at 1, a month’s budget lasts a month. All environments.',
      todo: 'Only short windows red: it has just begun. Only long ones red: it is over; find the cause.',
      limits: {
        below: 'green',
        steps: [
          { from: 1, colour: 'yellow', because: 'more is spent than comes in' },
          { from: 14.4, colour: 'red', because: 'a fiftieth of a month’s budget in one hour' },
        ],
      },
      queries: [burn('5m'), burn('1h'), burn('6h'), burn('3d')],
    }),
    stacked('Discards by code', 'perMinute', {
      needs: 'event',
      reading: 'Discarded rollouts, by the code that their trainer received.',
      todo: 'Look up the code in docs/failures.md.',
      limits: { none: 'the share above judges them; a code is only a cause' },
      queries: one(
        thatHappens(['code', 'blame'], verdicts, 'verdict="discard"', ofEnvironment),
        '{{code}} ({{blame}})',
      ),
    }),
    stacked('Lost sandboxes in use by cause', 'perMinute', {
      reading:
        'Sandboxes lost after their rollout’s first call, by cause. Earlier losses are replaced silently.',
      todo: '`node_…`, `evicted`, `preempted`: check the nodes. `sandboxd_killed`, `sandbox_exited`: the image. `deleted`: what deletes pods.',
      limits: { none: 'the share above judges them; a cause says where to look' },
      needs: 'event',
      queries: one(thatHappens(['cause'], 'corral_sandboxes_lost_total', 'effect="tainted"'), '{{cause}}'),
    }),
  ],
};

const toolCalls: Row = {
  title: 'Tool calls and requests',
  panels: [
    stacked('Settled tool calls by blame', 'perSecond', {
      columns: 8,
      reading: 'Settled tool calls by blame; those with `none` did what they were asked.',
      todo: '`model` is what training is for; the codes of `infrastructure` are two panels further.',
      limits: { none: 'how many calls are made is up to the policies' },
      queries: one(sum(['blame'], perSecond(calls, ofEnvironment)), '{{blame}}'),
    }),
    lines('Failed calls by environment', 'share', {
      columns: 8,
      reading: 'The share of each environment’s tool calls that ended in an infrastructure failure.',
      todo: 'One environment: look at its image, its limits, its nodes. All of them: at Redis, the provider, the gateways.',
      limits: objective,
      queries: one(
        shareOf(perSecond, calls, ['environment'], { part: [byUs], ofAll: [ofEnvironment] }),
        '{{environment}}',
      ),
    }),
    stacked('Failed calls by code', 'perMinute', {
      needs: 'event',
      columns: 8,
      reading: 'Dispatched calls that an infrastructure failure ended.',
      todo: 'Look the code up in docs/failures.md.',
      limits: { none: 'see the share next to it' },
      queries: one(thatHappens(['code'], calls, byUs, ofEnvironment), '{{code}}'),
    }),
    table('Failed requests', 'count', {
      reading: 'Failed requests in the selected time, the most frequent first.',
      todo: 'Blame `caller`: tell the job’s owner. `unclassified` is a mistake in Corral: report the log line that belongs to it.',
      limits: { none: 'one failed request is tried again; the alerts judge how many are too many' },
      needs: 'event',
      queries: one(
        `sort_desc (round (${sum(['blame', 'code', 'face'], inAll('corral_gateway_failures_total'))}) > 0)`,
      ),
    }),
    stacked('Failures of controllers', 'perMinute', {
      needs: 'event',
      reading: 'Failed launches and steps of controllers. Most have no effect, because they are retried.',
      todo: 'Of launches (`image_unavailable`, `start_failed`, `unschedulable`): go to Bursts and pools. `state_unavailable`, `provider_unavailable`: to Machinery.',
      limits: { none: 'it becomes bad where a breaker opens, which Bursts and pools shows' },
      queries: one(
        thatHappens(['blame', 'code'], 'corral_controller_failures_total'),
        '{{code}} ({{blame}})',
      ),
    }),
  ],
};

const others: Row = {
  title: 'Policies and callers',
  panels: [
    lines('Suspected policies by environment', 'share', {
      columns: 8,
      reading:
        'The share of each environment’s rollouts that end with a suspected command or answer of the policy.',
      todo: 'Tell the RL team; `corral run ID` has the last commands. A share that rises with training is a policy that learns it.',
      limits: {
        below: 'green',
        steps: [
          { from: 0.02, colour: 'yellow', because: 'a careless command now and then stays below it' },
          { from: 0.1, colour: 'red', because: 'a way out of bad rollouts that pays has been found' },
        ],
      },
      queries: one(
        shareOf(perSecond, verdicts, ['environment'], {
          part: ['suspected!="none"'],
          ofAll: [ofEnvironment],
        }),
        '{{environment}}',
      ),
    }),
    lines('Invalid tool calls by environment', 'share', {
      columns: 8,
      reading: 'The share of each environment’s tool calls with bad arguments or an unknown tool.',
      todo: 'Tell the RL team and the environment’s author: the tool’s description, or the chat template, misleads the model.',
      limits: {
        below: 'green',
        steps: [
          { from: 0.1, colour: 'yellow', because: 'an untrained model is often there for some steps' },
          { from: 0.3, colour: 'red', because: 'so many do not pass by training' },
        ],
      },
      queries: one(
        shareOf(perSecond, calls, ['environment'], {
          part: ['code=~"bad_arguments|unknown_tool"'],
          ofAll: [ofEnvironment],
        }),
        '{{environment}}',
      ),
    }),
    stacked('Requests failed by callers, by code', 'perMinute', {
      columns: 8,
      reading: 'Failed requests with blame `caller`, by code.',
      todo: 'Tell the job’s owner: docs/trainers.md has each code. `unauthorized`: whose key it is, the gateway’s log says.',
      limits: { none: 'a job that is being set up may fail as often as it likes' },
      needs: 'event',
      queries: one(thatHappens(['code'], 'corral_gateway_failures_total', 'blame="caller"'), '{{code}}'),
    }),
    stacked('Reported backend failures by what probes found', 'perMinute', {
      columns: 24,
      reading:
        'Tool calls that reported a failed backend by their exit code, by environment and what probes of it say.',
      todo: '`failed`: the environment’s author fixes the backend. `good`: a policy may be imitating the exit code, or the probe sees less than the tool. `undecided`: gateways cannot probe.',
      limits: { none: 'one report is an incident or an attempt, and the alerts tell which' },
      needs: 'event',
      queries: one(
        thatHappens(['environment', 'backend'], 'corral_backend_reports_total', ofEnvironment),
        '{{environment}}: {{backend}}',
      ),
    }),
  ],
};

export const whoseFailure: Dashboard = {
  uid: 'corral-whose-failure',
  title: 'Corral / Whose failure',
  description:
    'For the person on call, and for anyone who must decide whether a run can be trusted: what failed, and who caused it.',
  environments: 'several',
  rows: [headline, rollouts, toolCalls, others],
};
