import {
  resolveRollout,
  type ResolveDeps,
  type ResolvedRollout,
  resolveRecord,
  type Caller,
  checkSameTask,
  type Opening,
  ownerOf,
  type RolloutRef,
} from '../claiming/resolve-rollout.ts';
import { Failure } from '../failure/failure.ts';
import type { Environment } from '../model/environment.ts';
import type { Item } from '../model/grader.ts';
import type { Written } from '../model/written.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import { type GradeWork, readSample, type Grade } from './job.ts';
import { isOver } from '../model/rollout.ts';
import { rowOf } from '../claiming/dataset-row.ts';
import { unseenCalls } from './check-calls.ts';
import { noneFailed } from '../waiting/retries.ts';
import { stopCall, type StopDeps } from '../calls/cancel.ts';
import { isIdText } from '../model/ids.ts';
import type { CallStore } from '../ports/fleet/calls.ts';
import type { Deadline } from '../waiting/deadline.ts';
import { type GradeDeps, gradeRollout } from './grade-rollout.ts';

/** A grading as asked for: `open` is given on the RFT face, whose grader may be the first to name a rollout. */
type GradeAsked = {
  readonly rollout: RolloutRef;
  readonly open: Opening | null;
  readonly sample: Written;
  /** A score of the trainer's own, where its environment leaves grading to it. */
  readonly brought?: number;
};

/**
 * Finds what is to be graded. A rollout that nobody knows is graded only if it had no call that can have run: whatever
 * calls it had, we lost, and a score would be made up. Throws `rollout_unknown`, and what `resolveRollout` throws.
 */
export async function planGrade(deps: ResolveDeps, caller: Caller, asked: GradeAsked): Promise<GradeWork> {
  const rollout = await known(deps, caller, asked);
  checkWhoseScore(rollout.environment, asked.brought);
  const item = asked.open?.item ?? (await storedRow(deps, rollout.record));
  const { claim, environment, keyId } = rollout;
  const brought = asked.brought ?? null;
  return { claim, environment, item, sample: asked.sample, brought, keyId, swaps: noneFailed() };
}

/** One of the two gives the score: who wrote the environment has decided which. */
function checkWhoseScore({ name, grader }: Environment, brought: number | undefined): void {
  if (grader.kind === 'none' && brought === undefined) {
    throw new Failure(
      'invalid_request',
      `environment ${name} has no grader (kind: none): compute the score and bring it, POST …/finish {"score": …}`,
    );
  }
  if (grader.kind !== 'none' && brought !== undefined) {
    throw new Failure(
      'invalid_request',
      `environment ${name} grades by itself (kind: ${grader.kind}): ask for its score with POST …/grade, then finish without one`,
    );
  }
}

/** `record` null: nobody knew it before. */
type Graded = Omit<ResolvedRollout, 'exposed'> & { readonly record: RolloutRecord | null };

async function known(deps: ResolveDeps, caller: Caller, asked: GradeAsked): Promise<Graded> {
  const { rollout, attempt } = asked.rollout;
  const record = await deps.claims.find(ownerOf(caller, rollout, 1), attempt);
  if (record !== null) return opened(deps, await resolveRecord(deps, caller, record), record, asked.open);
  if (asked.open === null) throw unknown(caller, asked, 0);
  const fresh = await resolveRollout(deps, caller, asked.rollout, asked.open);
  const unseen = await unseenCalls(readSample(asked.sample), fresh.environment.tools, []);
  if (unseen.length > 0) throw unknown(caller, asked, unseen.length);
  return { ...fresh, record: null };
}

function opened(
  deps: ResolveDeps,
  rollout: Omit<ResolvedRollout, 'exposed'>,
  record: RolloutRecord,
  open: Opening | null,
): Graded {
  if (open !== null) checkSameTask(deps, rollout.environment, record, open);
  return { ...rollout, record };
}

/** One that is over is not graded again: its score is stored, or it has none. */
async function storedRow({ claims }: ResolveDeps, record: RolloutRecord | null): Promise<Item | null> {
  return record === null || isOver(record.state) ? null : rowOf(claims, record);
}

function unknown(caller: Caller, asked: GradeAsked, calls: number): Failure {
  const message = `rollout ${asked.rollout.rollout} of run ${caller.run} is not known here, so it is not scored`;
  const why = calls > 0 ? `; the platform counts ${calls} calls of it` : '; open it first';
  return new Failure('rollout_unknown', message + why, { evidence: { calls_named: calls } });
}

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
  deps: StopDeps & { readonly calls: Pick<CallStore, 'list'> },
  rollout: RolloutRecord,
): Promise<void> {
  const calls = await deps.calls.list(rollout.key);
  const open = calls.filter(({ state, call }) => state === 'dispatched' && isIdText(call));
  await Promise.all(open.map(({ call }) => stopCall(deps, rollout, call).catch(() => undefined)));
}
