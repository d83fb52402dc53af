import type { FaultDone } from '../trainer/faults-seen.ts';
import type { Finding } from '../trainer/judge.ts';
import { signalOfAll, type StepSignal } from '../trainer/signal.ts';
import { type Discarded, groupMeans, isClean, type TrainerVerdict } from '../trainer/verdict.ts';
import type { RolloutTruth } from '../trainer/truth.ts';

export type SoakFindings = {
  readonly verdict: TrainerVerdict;
  /** One for each wave, in order. */
  readonly signals: readonly StepSignal[];
  readonly truths: readonly RolloutTruth[];
  readonly findings: readonly Finding[];
  readonly discards: readonly Discarded[];
  readonly faults: readonly FaultDone[];
};

/** Findings and unexplained discards that are told one by one; the rest is in the file. */
const mostTold = 10;

/** The share of rollouts beyond which a person is told why so many clients gave up. */
const mostImpatient = 0.1;

/** What a person reads at the end. */
export function reportLines(soak: SoakFindings): readonly string[] {
  const { verdict, findings } = soak;
  const unexplained = soak.discards.filter(({ reason }) => reason === 'beyond' || reason === 'model');
  return [
    `${verdict.rollouts.all} rollouts, ${verdict.calls} calls, ${soak.faults.length} faults`,
    ...countLines(soak.faults.map(({ name }) => name)),
    '',
    `scored ${verdict.rollouts.scored}, given up early ${verdict.rollouts.cancelled}, discarded ${soak.discards.length}:`,
    `  forced by a fault ${verdict.rollouts.discarded.forced}, by the client's own clock ${verdict.rollouts.discarded.impatient}`,
    ...countLines(soak.discards.map(({ truth }) => codeOf(truth))),
    '',
    'what the discards took from each step',
    ...soak.signals.map((signal, index) => signalLine(`step ${index + 1}`, signal)),
    ...(soak.signals.length > 1 ? [signalLine('all', signalOfAll(soak.signals))] : []),
    `  groups whose mean zeros in their place would have moved: ${movedGroups(soak.truths)}`,
    '',
    ...zeroLines(verdict),
    'must be small',
    `  discards beyond those the faults forced        ${verdict.discardsBeyondFaults}`,
    ...findingLines(findings),
    ...unexplained.slice(0, mostTold).map((each) => `  ${each.reason} ${discardLine(each.truth)}`),
    '',
    ...conclusion(verdict),
  ];
}

function conclusion(verdict: TrainerVerdict): readonly string[] {
  const { all, scored, discarded } = verdict.rollouts;
  const hint = `${discarded.impatient} of ${all} rollouts were given up by the client's own clock: time runs too fast for this machine, so take a lower --speed or fewer --rollouts.`;
  const hints = discarded.impatient > all * mostImpatient ? [hint] : [];
  if (!isClean(verdict)) return [...hints, 'NOT CLEAN: the fleet taught the policy something untrue.'];
  if (scored === 0) return [...hints, 'NOTHING SHOWN: the four zeros hold, and no rollout was scored.'];
  return [...hints, 'All four zeros hold.'];
}

export function zeroLines(verdict: TrainerVerdict): readonly string[] {
  return [
    'must be zero',
    `  rollouts scored though infrastructure failed   ${verdict.scoredDespiteFailure}`,
    `  model failures discarded                       ${verdict.modelFailuresDiscarded}`,
    `  commands run twice                             ${verdict.ranTwice}`,
    `  infrastructure text shown to the policy        ${verdict.infrastructureTextShown}`,
  ];
}

export function findingLines(findings: readonly Finding[]): readonly string[] {
  return findings.slice(0, mostTold).map(({ kind, rollout, detail }) => `  ${kind} ${rollout}: ${detail}`);
}

export function countLines(names: readonly string[]): readonly string[] {
  const counts = [...Map.groupBy(names, (name) => name)].toSorted(([a], [b]) => a.localeCompare(b));
  return counts.map(([name, each]) => `  ${String(each.length).padStart(5)}  ${name}`);
}

function signalLine(step: string, { groups, groupsHurt, expected, lost }: StepSignal): string {
  const share = expected === 0 ? 0 : (100 * lost) / expected;
  return `  ${step.padEnd(8)} ${groupsHurt} of ${groups} groups lost a member, ${share.toFixed(1)} % of the signal (${lost} of ${expected} rollouts)`;
}

export function codeOf({ ending }: RolloutTruth): string {
  if (ending.kind !== 'discarded') return ending.kind;
  const cause = ending.cause === null ? '' : ` (${ending.cause})`;
  return `${ending.code}${cause} at the ${ending.at}`;
}

export function discardLine(truth: RolloutTruth): string {
  const message = truth.ending.kind === 'discarded' ? truth.ending.message : '';
  return `${truth.rollout}: ${codeOf(truth)}: ${message.slice(0, 200)}`;
}

/** What the veto is worth: groups that would have had another mean with zeros in the place of discards. */
function movedGroups(truths: readonly RolloutTruth[]): number {
  const honest = new Map(groupMeans(truths, 'with').map((group) => [group.task, group.mean]));
  return groupMeans(truths, 'without').filter(({ task, mean }) => honest.get(task) !== mean).length;
}
