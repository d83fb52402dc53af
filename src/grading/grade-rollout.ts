import { type ObtainDeps, obtainSandbox } from '../claiming/obtain-sandbox.ts';
import { rowOf } from '../claiming/dataset-row.ts';
import { hasIdsApart } from '../claiming/target.ts';
import { refusal } from '../claiming/refusal.ts';
import { asFailure, Barred, Failure } from '../failure/failure.ts';
import type { FleetEvent, ToldWhy } from '../ports/event-log.ts';
import type { GradeBegin, GradeStore } from '../ports/fleet/grades.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import type { WorkMetrics } from '../ports/gateway-metrics.ts';
import { Deadline } from '../waiting/deadline.ts';
import type { Ongoing } from '../waiting/ongoing.ts';
import { NotYet, retrying } from '../waiting/retries.ts';
import { retryPolicies } from '../waiting/retry-policies.ts';
import { type CheckCallsDeps, checkNamedCalls, settleOpenCalls } from './check-calls.ts';
import type { Evaluation, Scored } from './graders/evaluation.ts';
import type { Keep } from './keep-rollout.ts';
import { discardEvent, type Grade, gradedEvent, type GradeJob, type GradeWork } from './job.ts';
import { needsSandbox } from '../model/grader-leaves.ts';
import { unlessPolicys } from './run-command-grader.ts';
import { checkStillThere, type StillThereDeps } from './still-there.ts';

export type GradeDeps = ObtainDeps &
  StillThereDeps &
  CheckCallsDeps & {
    readonly grades: GradeStore;
    readonly ongoing: Ongoing<Grade>;
    /** Runs the environment's grader; throws `grader_failed` when it gives no finite number. */
    readonly evaluate: (job: GradeJob) => Promise<Evaluation>;
    readonly record: (event: FleetEvent) => void;
    /** Takes down what there is to be kept, before its score is stored; never throws. */
    readonly toKeep: (job: GradeJob, evaluation: Pick<Scored, 'artifacts'>) => Promise<Keep>;
    readonly work: Pick<WorkMetrics, 'graded'>;
  };

/** Of one rollout, as fleet state counts them (`turnsMax` in grading.lua): where none is used, the one that failed is forgotten. */
const mostTurns = 3;

/** How often a grading that runs elsewhere, or calls that still run, are looked after. */
const lookAgainMs = 200;

/**
 * Verdict first, then the grade:
 *
 *   the sandbox that ran its calls still answers ──▶ all calls are known and settled ──▶ begin (no new calls) ──▶ evaluate ──▶ store the score, once
 *                                                       │
 *                                                       ├─ scored before ──▶ the stored score
 *                                                       ├─ calls running, graded elsewhere ──▶ look again
 *                                                       └─ tainted, expired, closed ──▶ its code: the veto
 *
 * A grading goes on when the request's time is up. Throws only `Failure`, and what may pass is for the caller to try again; a
 * grader that failed is `grader_failed`, never a score.
 */
export async function gradeRollout(deps: GradeDeps, work: GradeWork, deadline: Deadline): Promise<Grade> {
  const rollout = await withItsSandbox(deps, work, deadline);
  const unseen = await checkNamedCalls(deps, work, rollout);
  const ongoing = deps.ongoing.join(rollout.key, () => gradeOnce(deps, work, rollout, unseen));
  const grade = await deps.ongoing.until(ongoing.result, deadline);
  if (grade !== 'still_running') return ongoing.joined ? { ...grade, replayed: true } : grade;
  throw new Failure('still_running', 'the grader is still running; ask again to wait for it', {
    admitted: 'yes',
  });
}

/** A sandbox that was gone before anything ran in it is swapped, and the look begins again with the next. */
async function withItsSandbox(deps: GradeDeps, work: GradeWork, deadline: Deadline): Promise<RolloutRecord> {
  const rollout = await withSandboxIfNeeded(deps, work, deadline);
  if (isToBeThere(rollout)) await checkStillThere(deps, rollout, deadline);
  return rollout;
}

/** What a stored score or the policy's own doing has decided does not depend on the sandbox any more. */
function isToBeThere(rollout: RolloutRecord): boolean {
  return rollout.epoch !== null && rollout.state !== 'closed' && !needsNoSandbox(rollout);
}

const needsNoSandbox = ({ verdict }: RolloutRecord): boolean => verdict === 'scored' || verdict === 'broken';

/** Rollouts without calls have no sandbox yet: a grader that works in one gets a fresh one, the others claim none. */
async function withSandboxIfNeeded(
  deps: GradeDeps,
  work: GradeWork,
  deadline: Deadline,
): Promise<RolloutRecord> {
  const needed = needsSandbox(work.environment.grader);
  const reply = await deps.claims.claim(needed ? work.claim : { ...work.claim, recordOnly: true });
  if (reply.kind === 'refused') {
    if (reply.rollout !== null && needsNoSandbox(reply.rollout)) return reply.rollout;
    throw refusal(reply.code, reply.rollout);
  }
  if (!needed || reply.rollout.state === 'active') return reply.rollout;
  return (await obtainSandbox(deps, work.environment, work.claim, deadline, work.swaps)).rollout;
}

async function gradeOnce(
  deps: GradeDeps,
  work: GradeWork,
  rollout: RolloutRecord,
  unseen: number,
): Promise<Grade> {
  const until = Deadline.in(deps.clock, work.environment.limits.gradeMs);
  let seen: Seen | null = { rollout, unseen };
  const attempt = async () => {
    // As a repeat would: fleet state may have forgotten the rollout itself, or calls that the platform names.
    seen ??= await lookAgain(deps, work, until);
    await settleOpenCalls(deps, work, seen.rollout, until);
    const grade = await takeTurn(deps, work, seen, until);
    seen = null;
    if (grade === null) throw new NotYet(forgotten());
    return grade;
  };
  return retrying(deps, retryPolicies.forgottenTurn, attempt);
}

/** The rollout with its sandbox, and how many calls of it never reached us. */
type Seen = { readonly rollout: RolloutRecord; readonly unseen: number };

function lookAgain(deps: GradeDeps, work: GradeWork, until: Deadline): Promise<Seen> {
  const look = async () => {
    const rollout = await withItsSandbox(deps, work, until);
    return { rollout, unseen: await checkNamedCalls(deps, work, rollout) };
  };
  return retrying(deps, retryPolicies.gradingStep, look, { until });
}

const forgotten = () =>
  new Failure('grader_failed', 'fleet state forgot each turn of the grader before its score came');

/** Null: fleet state has forgotten the turn, or the rollout; it is to be graded again. */
async function takeTurn(
  deps: GradeDeps,
  work: GradeWork,
  { rollout, unseen }: Seen,
  callsUntil: Deadline,
): Promise<Grade | null> {
  const { begun, deadline } = await begin(deps, work, rollout, callsUntil);
  if (begun.kind === 'scored') return { score: begun.score, detail: {}, replayed: true };
  if (begun.kind === 'barred') throw barredFrom(deps, work, rollout, begun);
  const item = work.item ?? (await rowOf(deps.claims, begun.rollout));
  const job = { ...work, item, rollout: begun.rollout, turn: begun.turn, deadline };
  const beganMs = deps.clock.monotonicMs();
  let evaluation: Evaluation | null = null;
  try {
    evaluation = await deps.evaluate(job);
    return await storeGrade(deps, job, evaluation, unseen);
  } catch (thrown) {
    const told = asFailure(thrown);
    const failure = hasIdsApart(job.rollout) ? told : unlessPolicys(told);
    if ((await countFailed(deps, job, failure, evaluation?.why)) === 'forgotten') return null;
    throw failure;
  } finally {
    deps.work.graded(work.environment.name, deps.clock.monotonicMs() - beganMs);
  }
}

/** If this discards the rollout, nothing else has written that down: its last turn has ended with its process, or its set-up was not replayed yet. */
function barredFrom(
  deps: GradeDeps,
  work: GradeWork,
  rollout: RolloutRecord,
  { code, first, rollout: now }: Extract<GradeBegin, { kind: 'barred' }>,
): Failure {
  const discarded = now?.discarded ?? null;
  if (first && discarded !== null) {
    const turn = code === 'grader_failed' ? mostTurns : 0;
    const reason =
      turn === 0
        ? 'its sandbox was lost, and its set-up was not replayed yet in the next one'
        : 'each turn of the grader ended without a word of it';
    const { evidence } = discarded;
    const why = deps.whyNot(work, reason);
    deps.record(discardEvent({ ...work, rollout, turn }, discarded, { evidence, why }, deps.clock.nowMs()));
  }
  return refusal(code, now);
}

/** Begins a turn as soon as calls and other graders are done. Its `deadline` is never later than the one in fleet state. */
async function begin(
  deps: GradeDeps,
  work: GradeWork,
  rollout: RolloutRecord,
  until: Deadline,
): Promise<{
  readonly begun: Exclude<GradeBegin, { kind: 'wait' | 'waiting' }>;
  readonly deadline: Deadline;
}> {
  const { gradeMs } = work.environment.limits;
  const ask = { by: deps.random.text(20), gradeMs, inSandbox: needsSandbox(work.environment.grader) };
  let seenIn = rollout.epoch?.sandbox ?? null;
  const attempt = async () => {
    const deadline = Deadline.in(deps.clock, gradeMs);
    const begun = await deps.grades.begin(rollout.key, { ...ask, seenIn });
    if (begun.kind === 'waiting') {
      const obtained = await obtainSandbox(deps, work.environment, work.claim, until, work.swaps);
      seenIn = obtained.rollout.epoch?.sandbox ?? null;
      throw new NotYet(tooLate('sandbox did not stay'), 0);
    }
    if (begun.kind === 'wait') throw new NotYet(tooLate(tooLong[begun.for]), lookAgainMs);
    return { begun, deadline };
  };
  return retrying(deps, retryPolicies.gradingStep, attempt, { until });
}

const tooLong = {
  calls: 'calls did not end',
  grader: 'grader did not end',
  journal: 'sandbox did not answer since Redis was replaced; its calls were not read',
} as const;

const tooLate = (what: string) => new Failure('grader_failed', `the ${what} within the time to grade`);

async function storeGrade(
  deps: GradeDeps,
  job: GradeJob,
  evaluation: Evaluation,
  unseen: number,
): Promise<Grade | null> {
  if (evaluation.kind === 'discarded') {
    throw new Failure(
      'grader_failed',
      `the environment discards this ending of its grader: ${evaluation.reason}`,
      {
        evidence: { suspected: evaluation.suspected, reason: evaluation.reason },
      },
    );
  }
  const until = Deadline.in(deps.clock, job.environment.limits.gradeMs);
  const { score, suspected } = evaluation;
  const keep = await deps.toKeep(job, evaluation);
  const store = () =>
    deps.grades.score(job.rollout.key, job.turn, score, { suspected, calls_unseen: unseen });
  const stored = await retrying(deps, retryPolicies.gradingStep, store, { until });
  if (stored === null) return null;
  if (stored.first) {
    deps.record(gradedEvent(job, { kind: 'scorable' }, evaluation, deps.clock.nowMs()));
    keep(score);
  }
  const detail = {
    ...evaluation.detail,
    ...(unseen > 0 && { calls_unseen: unseen }),
    ...(evaluation.suspected !== null && { suspected: evaluation.suspected }),
  };
  return { score: stored.score, detail, replayed: !stored.first };
}

/**
 * Counts the failed turn; what is told is why this turn failed. A veto that came while the grader ran is no turn of it,
 * and where fleet state could not be asked until the end, the turn ends there by its own time. One that has been forgotten
 * was nobody's any more: what failed may have failed for that.
 */
async function countFailed(
  deps: GradeDeps,
  job: GradeJob,
  failure: Failure,
  known: ToldWhy | undefined,
): Promise<'told' | 'forgotten'> {
  if (failure.code === 'judge_suspect') return distrust(deps, job, failure, known);
  if (isVeto(failure) || failure.code === 'state_unavailable' || failure.code === 'recovering') return 'told';
  const evidence = { ...failure.evidence, code: failure.code, message: failure.message };
  const count = () => deps.grades.failed(job.rollout.key, job.turn, evidence);
  const { turnsLeft, rollout } = await retrying(deps, retryPolicies.gradingStep, count, {
    until: job.deadline,
  });
  if (turnsLeft === mostTurns) return 'forgotten';
  if (turnsLeft === 0 && rollout?.discarded?.code === 'grader_failed') {
    const why = known ?? deps.whyNot(job, failure.message);
    deps.record(discardEvent(job, rollout.discarded, { evidence, why }, deps.clock.nowMs()));
  }
  return 'told';
}

async function distrust(
  deps: GradeDeps,
  job: GradeJob,
  { evidence, message }: Failure,
  known: ToldWhy | undefined,
): Promise<'told'> {
  const discard = () => deps.grades.distrust(job.rollout.key, job.turn, evidence);
  const { first, rollout } = await retrying(deps, retryPolicies.gradingStep, discard, {
    until: job.deadline,
  });
  if (first && rollout?.discarded?.code === 'judge_suspect') {
    const why = known ?? deps.whyNot(job, message);
    deps.record(discardEvent(job, rollout.discarded, { evidence, why }, deps.clock.nowMs()));
  }
  return 'told';
}

/** The rollout was lost or ended while the grader ran: what bars it says so, for good. */
const isVeto = (failure: Failure): boolean => failure.taints || failure instanceof Barred;
