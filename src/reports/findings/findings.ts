import { aboutRollouts, type Finding } from './finding.ts';
import { habitFindings } from './habits.ts';
import { jumpFindings, judgeFindings } from './judges.ts';
import { lossFindings, mistakeFindings, partFindings, spreadFindings, tailFindings } from './others.ts';
import { type FoundRollout, stepped } from './runs.ts';

export type FoundRun = {
  /** Without voided rollouts. */
  readonly rollouts: readonly FoundRollout[];
  /** Who logged more of the run than was read, and why it was not. */
  readonly missing: readonly string[];
};

/** A habit of a policy has many names: its path, its programs, what follows them. */
const mostHabits = 3;

/** What to look at in a run, the worst first. Pure: counted from its rollouts, without a model. */
export function findingsOf({ rollouts, missing }: FoundRun): readonly Finding[] {
  const all = stepped(rollouts);
  const habits = habitFindings(all).toSorted(worstFirst);
  const found = [
    ...habits.filter(({ kind }) => kind === 'habit').slice(0, mostHabits),
    ...habits.filter(({ kind }) => kind !== 'habit'),
    ...lossFindings(all),
    ...judgeFindings(all),
    ...jumpFindings(all),
    ...tailFindings(all),
    ...mistakeFindings(all),
    ...spreadFindings(all),
    ...partFindings(all),
    ...incompleteLog(missing),
  ];
  return found.toSorted(worstFirst);
}

function worstFirst(one: Finding, other: Finding): number {
  if (one.weight !== other.weight) return one.weight === 'bad' ? -1 : 1;
  return other.size - one.size;
}

function incompleteLog(missing: readonly string[]): readonly Finding[] {
  if (missing.length === 0) return [];
  return [
    {
      kind: 'incomplete_log',
      weight: 'look',
      title: 'Part of the event log could not be read',
      what: missing.join('; '),
      text: 'The other findings are counted without it.',
      ...aboutRollouts([]),
      size: 0,
    },
  ];
}
