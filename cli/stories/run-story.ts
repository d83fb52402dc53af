import type { RunAnswer } from '#src/protocol/native/runs.ts';
import type { Missing } from '#src/reports/rollout-story.ts';
import { duration } from '../print/amounts.ts';
import { table } from '../print/table.ts';
import { type Outline, type RunLine, runLineOfAnswer, runLinesOfOutlines } from './outlines.ts';
import { describeFindings, type ToldFinding } from './run-findings.ts';
import { describeMissing, labelled } from './screen.ts';

/** One run in full, as the fleet tells it or as the event log does, and what of it stands on a screen. */
export type RunStory = RunLine & {
  /** Null where only the event log is left: it knows no groups. */
  readonly waves: RunAnswer['waves'] | null;
  readonly suspects: readonly Suspect[];
  /** Counted from the event log. */
  readonly findings: readonly ToldFinding[];
  readonly missing: readonly Missing[];
  /** Null where only the event log is left. */
  readonly cost: RunCost | null;
  /** Null if only the event log is left, which has no groups, or if the gateway is of the previous version. */
  readonly reward: RunReward | null;
};

export type RunReward = {
  readonly mean: number | null;
  readonly discards: Readonly<Record<string, number>>;
  /** The mean with each infrastructure discard as a 0. Only a key of scope `admin` gets it. */
  readonly reward_if_zeroed?: number | null;
};

/** What sandboxes cost: the run's seconds, and the unused share of the whole fleet's. */
export type RunCost = {
  readonly seconds: RunAnswer['sandbox_seconds'];
  readonly fleet_idle_share: number | null;
};

/** Commands are in the event log only, so what is suspected comes from there; none where there is no log. */
export function runStoryOfAnswer(answer: RunAnswer, logged: readonly Outline[]): RunStory {
  const own = logged.filter(({ run }) => run === answer.run);
  const cost = { seconds: answer.sandbox_seconds, fleet_idle_share: answer.fleet_idle_share };
  const { waves } = answer;
  const suspects = suspectsOf(own);
  return {
    ...runLineOfAnswer(answer),
    waves,
    suspects,
    findings: [],
    missing: [],
    cost,
    reward: rewardOf(answer),
  };
}

function rewardOf({ mean, discards = {}, reward_if_zeroed: zeroed }: RunAnswer): RunReward | null {
  if (mean === undefined) return null;
  return { mean, discards, ...(zeroed !== undefined && { reward_if_zeroed: zeroed }) };
}

/** Null when the log tells of no such run. */
export function runStoryOfOutlines(run: string, logged: readonly Outline[]): RunStory | null {
  const own = logged.filter((outline) => outline.run === run);
  const [line] = runLinesOfOutlines(own);
  if (line === undefined) return null;
  return {
    ...line,
    waves: null,
    suspects: suspectsOf(own),
    findings: [],
    missing: [],
    cost: null,
    reward: null,
  };
}

/** Rollouts that ended in the same way after the same last command, which may or may not be the cause. */
export type Suspect = {
  readonly environment: string;
  readonly code: string;
  readonly command: string | null;
  readonly rollouts: number;
};

/** By environment, code and last command, the most frequent first: what a policy has learnt stands at the top. */
export function suspectsOf(outlines: readonly Outline[]): readonly Suspect[] {
  const suspected = outlines.filter((one) => one.suspected !== null).map(suspectOf);
  const alike = Map.groupBy(suspected, (each) => JSON.stringify(each));
  return [...alike.values()]
    .flatMap(([first, ...rest]) => (first === undefined ? [] : [{ ...first, rollouts: rest.length + 1 }]))
    .toSorted((one, other) => other.rollouts - one.rollouts);
}

function suspectOf({ environment, verdict, lastCommand }: Outline): Omit<Suspect, 'rollouts'> {
  // Scored: its grader ended badly, and the environment says what that is worth.
  const code = verdict?.kind === 'discard' ? verdict.code : 'scored';
  return { environment, code, command: lastCommand };
}

type Wave = NonNullable<RunStory['waves']>[number];

/** One screen: what became of the run's rollouts, what its discards cost, and which commands are suspected. */
export function describeRun(story: RunStory, width: number): string {
  const { run, state, source, rollouts, scored, discarded, voided, open, waves, suspects, cost, reward } =
    story;
  const heading = labelled([
    ['run', `${run}, ${state ?? `told from the ${source}`}`],
    [
      'rollouts',
      `${rollouts}: ${scored} scored, ${discarded} discarded, ${open ?? 'unknown'} open${voided === 0 ? '' : `, ${voided} voided`}`,
    ],
    ['failures', describeCodes(story.codes)],
    ...(reward === null ? [] : describeReward(reward)),
    ...(cost === null ? [] : describeCost(cost)),
  ]);
  return [
    ...heading,
    ...describeFindings(story.findings, width),
    ...(waves === null ? [] : describeWaves(waves)),
    ...describeSuspects(suspects, width),
    ...describeMissing(story.missing, width),
  ].join('\n');
}

/** Of rollouts that are over; the fleet's share tells whether too much is kept ready. */
function describeCost({ seconds, fleet_idle_share: idle }: RunCost): readonly (readonly [string, string])[] {
  const { scored, discarded, ungraded } = seconds;
  const all = scored + discarded + ungraded;
  const lost = all === 0 ? '' : `, ${percent(discarded / all)} of them discarded`;
  return [
    ['sandboxes', `${hours(all)} of rollouts that are over${lost}`],
    ['idle', idle === null ? '–' : `${percent(idle)} of what the whole fleet’s sandboxes have cost`],
  ];
}

/** What discards cost a trainer that masks them, and what they would teach one that does not. */
function describeReward(reward: RunReward): readonly (readonly [string, string])[] {
  const { mean, discards, reward_if_zeroed: zeroed } = reward;
  const ours = discards['infrastructure'] ?? 0;
  const compared =
    zeroed === undefined ? '' : `, ${rewardText(zeroed)} if its ${ours} infrastructure discards were zeros`;
  return [['mean reward', `${rewardText(mean)}${compared}`]];
}

const rewardText = (reward: number | null | undefined): string =>
  reward === null || reward === undefined ? '–' : String(Number(reward.toPrecision(4)));

/** `12.3 h`, and what is less than one in smaller units. */
const hours = (seconds: number): string =>
  seconds < 3600 ? duration(seconds * 1000) : `${(seconds / 3600).toFixed(1)} h`;

/** Failure codes, the most frequent first. */
export function describeCodes(codes: Readonly<Record<string, number>>): string {
  const all = Object.entries(codes).sort(([, a], [, b]) => b - a);
  return all.map(([code, count]) => `${code} ${count}`).join(', ') || '–';
}

function describeWaves(waves: readonly Wave[]): readonly string[] {
  if (waves.length === 0) return [];
  const columns = [
    { title: 'wave', of: ({ wave }: Wave) => String(wave), right: true },
    { title: 'groups', of: ({ groups }: Wave) => String(groups), right: true },
    { title: 'lost a member', of: (line: Wave) => String(line.groups_hurt), right: true },
    { title: 'rollouts', of: ({ rollouts }: Wave) => String(rollouts), right: true },
    { title: 'lost', of: (line: Wave) => String(line.rollouts_lost), right: true },
    { title: 'signal lost', of: (line: Wave) => percent(line.signal_lost), right: true },
    { title: 'mean reward', of: ({ mean }: Wave) => rewardText(mean), right: true },
    { title: 'if zeroed', of: (line: Wave) => rewardText(line.reward_if_zeroed), right: true },
  ];
  return ['', table(waves, columns)];
}

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;

function describeSuspects(suspects: readonly Suspect[], width: number): readonly string[] {
  if (suspects.length === 0) return [];
  const columns = [
    { title: 'rollouts', of: ({ rollouts }: Suspect) => String(rollouts), right: true },
    { title: 'environment', of: ({ environment }: Suspect) => environment },
    { title: 'ended as', of: ({ code }: Suspect) => code },
    { title: 'last command', of: ({ command }: Suspect) => (command ?? 'unknown').replaceAll(/\s+/g, ' ') },
  ];
  return ['', 'suspected: the last command may have been the cause', table(suspects, columns, width)];
}
