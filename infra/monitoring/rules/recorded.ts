import { by, countOf, type Duration, of, type Recording, sumOf } from './rule.ts';

/** Windows of the burn rates. The short one of a pair ends an alert soon after what it tells has ended. */
export const windows = ['5m', '30m', '1h', '6h', '3d'] as const satisfies readonly Duration[];
export type Window = (typeof windows)[number];

/**
 * Rollouts that the infrastructure lost, as a share of all finished rollouts. A rollout that its caller closed or let expire is
 * not lost. A discard that the policy's command may have caused is reported to the people who train it: a policy that learns to
 * break its sandbox must neither page the on-call engineer nor pass as an infrastructure failure.
 */
const lost = of('corral_verdicts_total', 'verdict="discard",blame="infrastructure",suspected="none"');
const ended = of('corral_verdicts_total', 'blame!="caller"');

const calls = of('corral_calls_settled_total');

/** Discards of a sandbox that a command may have ended; what a broken grader leaves behind has no call. */
const suspectedLosses = of(
  'corral_verdicts_total',
  'verdict="discard",code=~"sandbox_lost|outcome_unknown",suspected="command"',
);

/**
 * Calls that failed by us. A sandbox that its own command may have ended takes a call with it: as many are left out, in each
 * environment, as there were such ends. Counters are there at 0, but an environment may have had no verdict yet.
 */
function failedCalls(what: 'rate' | 'increase', window: Duration): string {
  const each = (selector: string) => sumOf(what, selector, window, 'environment');
  const ours = each(of('corral_calls_settled_total', 'blame="infrastructure"'));
  return `sum ${by()} (clamp_min(${ours} - (${each(suspectedLosses)} or ${each(calls)} * 0), 0))`;
}

/** Counts the rollouts lost in a window. One lost rollout of a handful is a large share, but no reason for a page. */
export const lostCount = (window: Window): string => countOf(lost, window);
export const failedCallCount = (window: Window): string => `round(${failedCalls('increase', window)})`;

const ratioOfLost = (window: Window): Recording => ({
  record: `corral:rollouts_lost:ratio_rate${window}`,
  // Where nothing ended there is no share.
  expr: `${sumOf('rate', lost, window)} / (${sumOf('rate', ended, window)} > 0)`,
});

const ratioOfFailedCalls = (window: Window): Recording => ({
  record: `corral:calls_failed:ratio_rate${window}`,
  expr: `${failedCalls('rate', window)} / (${sumOf('rate', calls, window)} > 0)`,
  labels: { blame: 'infrastructure' },
});

/** The others', for dashboards: no objective is held against them. */
const ratioOfOthersCalls = (window: Window): Recording => {
  const others = of('corral_calls_settled_total', 'blame=~"model|caller"');
  const all = `${sumOf('rate', calls, window)} > 0`;
  return {
    record: `corral:calls_failed:ratio_rate${window}`,
    expr: `${sumOf('rate', others, window, 'blame')} / ignoring (blame) group_left () (${all})`,
  };
};

const points = (sign: string) => of('corral_score_points_total', `sign="${sign}"`);
const discardsOfOurs = of('corral_verdicts_total', 'verdict="discard",blame="infrastructure"');

/**
 * The mean reward of an environment, and what it would be with each infrastructure discard as a 0, as a trainer that masks
 * nothing would learn it. Rollouts that callers discarded or voided are in neither value.
 */
function rewardRecordings(window: Duration): readonly Recording[] {
  const zeroed = `(${scoredIn(window)} + ${riseIn(window, discardsOfOurs)})`;
  return [
    { record: `corral:reward:mean${window}`, expr: meanRewardOf(window) },
    { record: `corral:reward_if_zeroed:mean${window}`, expr: `${pointsIn(window)} / (${zeroed} > 0)` },
  ];
}

const riseIn = (window: Duration, selector: string) => sumOf('increase', selector, window, 'environment');
const pointsIn = (window: Duration) =>
  `(${riseIn(window, points('positive'))} - ${riseIn(window, points('negative'))})`;

/** How many rollouts of an environment got a score that counts. */
export const scoredIn = (window: Duration): string =>
  `(${riseIn(window, of('corral_scores_total'))} - ${riseIn(window, of('corral_scores_voided_total'))})`;
export const meanRewardOf = (window: Duration): string => `${pointsIn(window)} / (${scoredIn(window)} > 0)`;

/** Every controller tells the whole fleet, so two of them say it once. */
export const poolRecordings: readonly Recording[] = [
  { record: 'corral:pool:max', expr: `max ${by('template', 'state')} (${of('corral_fleet_pool')})` },
];

export const objectiveRecordings: readonly Recording[] = [
  ...windows.map(ratioOfLost),
  ...windows.map(ratioOfFailedCalls),
  ...(['5m', '1h'] as const).map(ratioOfOthersCalls),
  ...rewardRecordings('1h'),
];
