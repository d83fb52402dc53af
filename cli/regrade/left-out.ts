import { ownerOf, type RolloutKey } from '#src/model/rollout.ts';
import type { Outline } from '../stories/outlines.ts';

/** A rollout that was graded again, and its new score; null: it has none, and `why` says why. */
export type Attempted = {
  readonly rollout: string;
  readonly new: number | null;
  readonly why: string | null;
};

/** A rollout of the run that neither mean counts. */
export type LeftOut = {
  readonly rollout: string;
  readonly reason: 'voided' | 'discarded' | 'not_graded' | 'not_kept' | 'not_regradable' | 'no_new_score';
  /** The caller's reason, the code of the discard, which texts are not whole, or what the newer grader failed with. */
  readonly why: string | null;
};

/**
 * All rollouts of a run that neither mean counts, so that a mean is not read as that of the whole run. `logged`: the run as the
 * event log has it; `graded`: the kept rollouts that the newer grader was given.
 */
export function listLeftOut(
  logged: readonly Outline[],
  graded: ReadonlySet<RolloutKey>,
  regraded: readonly Attempted[],
): readonly LeftOut[] {
  const before = newestAttempts(logged).filter(({ key }) => !graded.has(key));
  const failed = regraded.filter((one) => one.new === null);
  return [
    ...before.map(explainOutline),
    ...failed.map(({ rollout, why }) => ({ rollout, reason: 'no_new_score', why }) as const),
  ];
}

/** An attempt that was opened again is not the rollout's result. */
function newestAttempts(logged: readonly Outline[]): readonly Outline[] {
  const newest = new Map<string, Outline>();
  for (const outline of logged) {
    const { tenant, rollout } = ownerOf(outline.key);
    const name = `${tenant} ${rollout}`;
    if ((newest.get(name)?.attempt ?? 0) < outline.attempt) newest.set(name, outline);
  }
  return [...newest.values()];
}

function explainOutline({ rolloutId: rollout, verdict, score, voidReason }: Outline): LeftOut {
  if (voidReason !== null) return { rollout, reason: 'voided', why: voidReason };
  if (verdict?.kind === 'discard') return { rollout, reason: 'discarded', why: verdict.code };
  return { rollout, reason: score === null ? 'not_graded' : 'not_kept', why: null };
}

const sentences: Readonly<Record<LeftOut['reason'], string>> = {
  voided: 'voided',
  discarded: 'discarded',
  not_graded: 'has no score',
  not_kept: 'scored, and not kept',
  not_regradable: 'not regradable',
  no_new_score: 'no new score',
};

export const describeLeftOut = ({ reason, why }: LeftOut): string =>
  why === null ? sentences[reason] : `${sentences[reason]}: ${why}`;
