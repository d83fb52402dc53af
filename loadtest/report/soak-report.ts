import type { FaultDone } from '../trainer/faults-seen.ts';
import type { Finding } from '../trainer/judge.ts';
import type { Discarded, TrainerVerdict } from '../trainer/verdict.ts';
import { groupMeans, isClean } from '../trainer/verdict.ts';
import type { RolloutTruth } from '../trainer/truth.ts';

export type SoakFindings = {
  readonly verdict: TrainerVerdict;
  readonly truths: readonly RolloutTruth[];
  readonly findings: readonly Finding[];
  readonly discards: readonly Discarded[];
  readonly faults: readonly FaultDone[];
};

/** Findings and unexplained discards that are told one by one; the rest is in the file. */
const mostTold = 10;

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
    `groups whose mean a fabricated zero would have moved: ${movedGroups(soak.truths)}`,
    '',
    'must be zero',
    `  rollouts scored though infrastructure failed   ${verdict.scoredDespiteFailure}`,
    `  model failures discarded                       ${verdict.modelFailuresDiscarded}`,
    `  commands run twice                             ${verdict.ranTwice}`,
    `  infrastructure text shown to the policy        ${verdict.infrastructureTextShown}`,
    'must be small',
    `  discards beyond those the faults forced        ${verdict.discardsBeyondFaults}`,
    ...findings.slice(0, mostTold).map(({ kind, rollout, detail }) => `  ${kind} ${rollout}: ${detail}`),
    ...unexplained.slice(0, mostTold).map((each) => `  ${each.reason} ${unexplainedLine(each.truth)}`),
    '',
    isClean(verdict) ? 'All four zeros hold.' : 'NOT CLEAN: the fleet taught the policy something untrue.',
  ];
}

function countLines(names: readonly string[]): readonly string[] {
  const counts = [...Map.groupBy(names, (name) => name)].toSorted(([a], [b]) => a.localeCompare(b));
  return counts.map(([name, each]) => `  ${String(each.length).padStart(5)}  ${name}`);
}

function codeOf({ ending }: RolloutTruth): string {
  if (ending.kind !== 'discarded') return ending.kind;
  const cause = ending.cause === null ? '' : ` (${ending.cause})`;
  return `${ending.code}${cause} at the ${ending.at}`;
}

function unexplainedLine(truth: RolloutTruth): string {
  const message = truth.ending.kind === 'discarded' ? truth.ending.message : '';
  return `${truth.rollout}: ${codeOf(truth)}: ${message.slice(0, 200)}`;
}

/** What the veto is worth: groups that would have had another mean with zeros in the place of discards. */
function movedGroups(truths: readonly RolloutTruth[]): number {
  const honest = new Map(groupMeans(truths, 'with').map((group) => [group.task, group.mean]));
  return groupMeans(truths, 'without').filter(({ task, mean }) => honest.get(task) !== mean).length;
}
