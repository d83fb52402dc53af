import { type AttachDeps, cancelCall } from '../calls/attach.ts';
import type { ResolveDeps, Caller, RolloutRef } from '../claiming/resolve-rollout.ts';
import { Failure } from '../failure/failure.ts';
import { isIdText } from '../model/ids.ts';
import type { CallStore } from '../ports/fleet/calls.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import type { Deadline } from '../waiting/deadline.ts';
import { type GradeDeps, gradeRollout } from './grade-rollout.ts';
import type { Grade, GradeWork } from './job.ts';
import { planGrade } from './plan-grade.ts';

/**
 * A score that the trainer computed itself. It takes the way of every other: the verdict first, so a rollout that lost its
 * state has none; stored once, so a second one is a conflict and the same again is answered from the record.
 */
export function planBrought(
  deps: ResolveDeps,
  caller: Caller,
  rollout: RolloutRef,
  score: number,
): Promise<GradeWork> {
  return planGrade(deps, caller, { rollout, open: null, sample: '{}', brought: score });
}

/** Throws `score_conflict` where another stands, and what bars the rollout. */
export async function storeBrought(deps: GradeDeps, work: GradeWork, deadline: Deadline): Promise<Grade> {
  const grade = await gradeRollout(deps, work, deadline);
  if (grade.score === work.brought) return grade;
  const { rollout } = work.claim.owner;
  throw new Failure(
    'score_conflict',
    `rollout ${rollout} has the score ${grade.score}; ${work.brought} is not taken in its place`,
    { evidence: { stored: grade.score, brought: work.brought } },
  );
}

/**
 * Whoever brings a score is done with what still runs, and would wait for it: it is stopped, and settles as cancelled. What
 * cannot be stopped now is waited for, because how it ends may be why there is no score.
 */
export async function stopWhatRuns(
  deps: AttachDeps & { readonly calls: Pick<CallStore, 'list'> },
  rollout: RolloutRecord,
): Promise<void> {
  const calls = await deps.calls.list(rollout.key);
  const open = calls.filter(({ state, call }) => state === 'dispatched' && isIdText(call));
  await Promise.all(open.map(({ call }) => cancelCall(deps, rollout, call).catch(() => undefined)));
}
