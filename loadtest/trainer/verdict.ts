import { type Group, groupsOf, type Veto } from '#demo/trainer/groups.ts';
import type { DiscardReason } from './faults-seen.ts';
import type { Finding } from './judge.ts';
import type { RolloutTruth } from './truth.ts';

/** What the trainer says of the fleet in the end. The first four must be zero, the fifth small. */
export type TrainerVerdict = {
  readonly scoredDespiteFailure: number;
  readonly modelFailuresDiscarded: number;
  readonly ranTwice: number;
  readonly infrastructureTextShown: number;
  readonly discardsBeyondFaults: number;
  readonly rollouts: {
    readonly all: number;
    readonly scored: number;
    readonly cancelled: number;
    readonly discarded: Readonly<Record<DiscardReason, number>>;
  };
  readonly calls: number;
};

export type Discarded = { readonly truth: RolloutTruth; readonly reason: DiscardReason };

export function verdictOf(
  truths: readonly RolloutTruth[],
  findings: readonly Finding[],
  discards: readonly Discarded[],
): TrainerVerdict {
  // By rollout, not by line: one fresh machine is missed by every later call of its rollout.
  const rolloutsWith = (kind: Finding['kind']) =>
    new Set(findings.filter((finding) => finding.kind === kind).map(({ rollout }) => rollout)).size;
  const discardedFor = (reason: DiscardReason) => discards.filter((each) => each.reason === reason).length;
  const ended = (kind: RolloutTruth['ending']['kind']) =>
    truths.filter(({ ending }) => ending.kind === kind).length;
  return {
    scoredDespiteFailure: rolloutsWith('scored_despite_failure'),
    modelFailuresDiscarded: discardedFor('model'),
    ranTwice: findings.filter(({ kind }) => kind === 'ran_twice').length,
    infrastructureTextShown: findings.filter(({ kind }) => kind === 'shown_infrastructure_text').length,
    discardsBeyondFaults: discardedFor('beyond'),
    rollouts: {
      all: truths.length,
      scored: ended('scored'),
      cancelled: ended('cancelled'),
      discarded: {
        forced: discardedFor('forced'),
        impatient: discardedFor('impatient'),
        model: discardedFor('model'),
        beyond: discardedFor('beyond'),
      },
    },
    calls: truths.reduce((sum, { calls }) => sum + calls.length, 0),
  };
}

/** All four zeros hold. */
export function isClean(verdict: TrainerVerdict): boolean {
  const { scoredDespiteFailure, modelFailuresDiscarded, ranTwice, infrastructureTextShown } = verdict;
  return scoredDespiteFailure + modelFailuresDiscarded + ranTwice + infrastructureTextShown === 0;
}

/**
 * The rewards of each group as a trainer takes them, without the rollouts that were given up early. `veto`: whether a
 * discarded rollout is left out, as it must be, or taken for a zero.
 */
export function groupMeans(truths: readonly RolloutTruth[], veto: Veto): readonly Group[] {
  const copies = truths.flatMap(({ group, ending }) =>
    ending.kind === 'cancelled' ? [] : [{ task: group, ending }],
  );
  return groupsOf(copies, veto);
}
