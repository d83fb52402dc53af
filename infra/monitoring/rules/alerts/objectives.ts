import { failedCallCount, lostCount, type Window } from '../recorded.ts';
import { type Alert, of, placeholders } from '../rule.ts';

/*
 * What is promised, and how fast the promise is being broken. An objective of 0.1 % is a budget for 30 days; at 14.4 times that
 * rate 2 % of it is gone in an hour, at 6 times 5 % in six hours, and at its own rate 10 % in three days.
 */

/** Fewer are a bad day of one machine, told by the alert of its cause. */
const leastEvents = 3;

type Objective = {
  readonly ratio: (window: Window) => string;
  readonly count: (window: Window) => string;
  readonly objective: string;
};

const rollouts: Objective = {
  ratio: (window) => of(`corral:rollouts_lost:ratio_rate${window}`),
  count: lostCount,
  objective: placeholders.lostRollouts,
};

const toolCalls: Objective = {
  ratio: (window) => of(`corral:calls_failed:ratio_rate${window}`, 'blame="infrastructure"'),
  count: failedCallCount,
  objective: placeholders.toolCalls,
};

/** Faster than `factor` times the objective, over a long and a short window. */
function burns({ ratio, count, objective }: Objective, factor: number, long: Window, short: Window): string {
  const above = (window: Window) => `${ratio(window)} > ${factor} * ${objective}`;
  const enough = `${count(long)} >= ${leastEvents}`;
  return `(${above(long)} and ignoring (blame) ${above(short)} and ignoring (blame) ${enough})`;
}

const fast = (objective: Objective) => burns(objective, 14.4, '1h', '5m');
const slowly = (objective: Objective) =>
  `${burns(objective, 6, '6h', '30m')} or ${burns(objective, 1, '3d', '6h')}`;

const budget = (objective: string) => `(objective: {{ "${objective}" | humanizePercentage }})`;

export const objectiveAlerts = {
  RolloutsLostFast: {
    severity: 'critical',
    blame: 'infrastructure',
    expr: fast(rollouts),
    for: '2m',
    when: 'rollouts are lost to infrastructure failures at more than 14.4 × the objective, over 1 h and over 5 min, and at least 3 of them',
    summary: `{{ $value | humanizePercentage }} of fleet {{ $labels.fleet }}’s rollouts in the last hour were lost to infrastructure failures ${budget(placeholders.lostRollouts)}`,
    description:
      'Infrastructure failures discard running rollouts. Training jobs get fewer results, and groups miss rollouts. No score is wrong.',
    consequenceOf: ['FleetStateAway', 'FleetRecovers', 'PartAway'],
  },
  RolloutsLostSlow: {
    severity: 'warning',
    blame: 'infrastructure',
    expr: slowly(rollouts),
    for: '5m',
    when: 'rollouts are lost to infrastructure failures at more than 6 × the objective over 6 h and 30 min, or more than the objective over 3 d and 6 h, and at least 3 of them',
    summary: `{{ $value | humanizePercentage }} of fleet {{ $labels.fleet }}’s rollouts have been lost to infrastructure failures for hours ${budget(placeholders.lostRollouts)}`,
    description:
      'The rate is too low to page, but too high for the month’s objective. Usually one cause recurs.',
    consequenceOf: ['RolloutsLostFast', 'FleetStateAway', 'PartAway'],
  },
  ToolCallsFail: {
    severity: 'critical',
    blame: 'infrastructure',
    expr: fast(toolCalls),
    for: '2m',
    when: 'tool calls fail because of the infrastructure at more than 14.4 × the objective, over 1 h and over 5 min, and at least 3 of them',
    summary: `{{ $value | humanizePercentage }} of fleet {{ $labels.fleet }}’s tool calls in the last hour failed because of the infrastructure ${budget(placeholders.toolCalls)}`,
    description:
      'Calls were sent into sandboxes, and no answer can be given for them. Each taints its rollout, which is then discarded.',
    consequenceOf: ['FleetStateAway', 'FleetRecovers', 'PartAway', 'RolloutsLostFast'],
  },
  ToolCallsFailSlowly: {
    severity: 'warning',
    blame: 'infrastructure',
    expr: slowly(toolCalls),
    for: '5m',
    when: 'tool calls fail because of the infrastructure at more than 6 × the objective over 6 h and 30 min, or more than the objective over 3 d and 6 h, and at least 3 of them',
    summary: `{{ $value | humanizePercentage }} of fleet {{ $labels.fleet }}’s tool calls have failed because of the infrastructure for hours ${budget(placeholders.toolCalls)}`,
    description:
      'Calls fail at a low rate, mostly in one environment, on one node, or for one recurring cause.',
    consequenceOf: ['ToolCallsFail', 'RolloutsLostFast', 'RolloutsLostSlow', 'FleetStateAway', 'PartAway'],
  },
} as const satisfies Readonly<Record<string, Alert>>;
