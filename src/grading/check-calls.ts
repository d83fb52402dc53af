import { setImmediate as othersTurn } from 'node:timers/promises';
import { refusal } from '../claiming/refusal.ts';
import { asFailure, type Evidence, Failure } from '../failure/failure.ts';
import { type CallId, isIdText } from '../model/ids.ts';
import type { FleetEvent, ToldWhy } from '../ports/event-log.ts';
import type { CallStore } from '../ports/fleet/calls.ts';
import type { GradeStore } from '../ports/fleet/grades.ts';
import type { CallSummary, RolloutRecord } from '../ports/fleet/records.ts';
import type { RecoveryStore } from '../ports/fleet/recovery.ts';
import type { Deadline } from '../waiting/deadline.ts';
import { type RetryDeps, retrying } from '../waiting/retries.ts';
import { retryPolicies } from '../waiting/retry-policies.ts';
import { discardEvent, type GradeWork, readSample } from './job.ts';
import type { Environment } from '../model/environment.ts';
import type { Json } from '../model/grader.ts';
import { checkArguments, parseArguments } from '../tools/arguments.ts';
import type { Sample } from './graders/evaluation.ts';

/**
 * A rollout is graded for what it did, so all that it did must be known first: that every call which the platform names
 * has reached us (`checkNamedCalls`), and how each that was sent has ended (`settleOpenCalls`).
 */

export type CheckCallsDeps = RetryDeps & {
  readonly calls: Pick<CallStore, 'list'>;
  readonly grades: Pick<GradeStore, 'discard'>;
  readonly recovery: Pick<RecoveryStore, 'adoptedAtMs'>;
  /** Waits for a dispatched call's answer, from its sandbox's journal if nobody else does, and settles it. */
  readonly awaitCall: (
    work: GradeWork,
    rollout: RolloutRecord,
    call: CallId,
    deadline: Deadline,
  ) => Promise<unknown>;
  readonly record: (event: FleetEvent) => void;
  /** What is told to a person of a rollout that gets no score for this reason. */
  readonly whyNot: (work: GradeWork, reason: string) => ToldWhy;
};

/**
 * Returns how many calls the platform names that never reached us, where the environment wants them reported; throws
 * `rollout_unknown` where it wants such a rollout discarded. What of a failure may pass is for the caller to try again.
 */
export async function checkNamedCalls(
  deps: CheckCallsDeps,
  work: GradeWork,
  rollout: RolloutRecord,
): Promise<number> {
  const named = namedCalls(readSample(work.sample)).length;
  if (named === 0 || rollout.verdict === 'scored') return 0;
  const recorded = await deps.calls.list(rollout.key);
  const unseen = await unseenCalls(readSample(work.sample), work.environment.tools, recorded);
  if (unseen.length === 0) return 0;
  const adoptedAtMs = await deps.recovery.adoptedAtMs();
  if (mayReport(work, rollout, adoptedAtMs)) return unseen.length;
  const reason = `the platform names ${unseen.length} calls of rollout ${rollout.owner.rollout} that never reached us, so it is not scored`;
  const evidence = { calls_named: named, calls_unseen: unseen.length, first_unseen: unseen[0] ?? null };
  const now = await discard(deps, work, rollout, reason, evidence);
  if (now?.verdict === 'scored') return 0;
  const code = now?.barred ?? 'rollout_unknown';
  throw code === 'rollout_unknown' ? new Failure(code, reason, { evidence }) : refusal(code, now);
}

/**
 * Reported is only what was lost on its way. A rollout that was opened after Redis had forgotten everything may be the
 * rest of an older one, in a fresh sandbox: no setting lets that be scored.
 */
function mayReport(
  { environment }: GradeWork,
  { placedAtMs }: RolloutRecord,
  adoptedAtMs: number | null,
): boolean {
  if (environment.unseenCalls !== 'report') return false;
  if (adoptedAtMs === null || placedAtMs < adoptedAtMs) return true;
  return placedAtMs - adoptedAtMs > environment.limits.hardLifeMs;
}

/** Returns the rollout as it stands then: what it had come to before stays. Null: fleet state has forgotten it. */
async function discard(
  deps: CheckCallsDeps,
  work: GradeWork,
  rollout: RolloutRecord,
  reason: string,
  evidence: Evidence,
): Promise<RolloutRecord | null> {
  const { first, rollout: now } = await deps.grades.discard(rollout.key, 'rollout_unknown', evidence);
  if (first && now?.discarded != null) {
    const job = { ...work, rollout, turn: 0 };
    const why = deps.whyNot(work, reason);
    deps.record(discardEvent(job, now.discarded, { why }, deps.clock.nowMs()));
  }
  return now;
}

/**
 * Ids of calls that the platform saw the model make and that never reached us: lost between the two, or forgotten here.
 * A job may have tools of other servers too, so only those of this environment count. One whose arguments are wrong
 * would have run nothing, whoever had it; a platform may answer it without us, and a model can make one whenever it
 * likes, so it counts for nothing: else it would be a way out of a bad rollout.
 */
export async function unseenCalls(
  sample: Sample,
  tools: Environment['tools'],
  recorded: readonly CallSummary[],
): Promise<readonly string[]> {
  const seen = new Set<string>(recorded.map((summary) => summary.call));
  const suspects = namedCalls(sample).filter((call) => isOurs(call, tools) && !seen.has(idOf(call)));
  const unseen: string[] = [];
  for (const call of suspects) {
    if (!isRefusable(call, tools)) unseen.push(idOf(call));
    // Checking the arguments of one call may take a moment, and a sample may name thousands: other requests go between them.
    await othersTurn();
  }
  return unseen;
}

/** Arguments that are not told say nothing. */
function isRefusable(call: Json, tools: Environment['tools']): boolean {
  const name = fieldOf(fieldOf(call, 'function'), 'name');
  const given = fieldOf(fieldOf(call, 'function'), 'arguments');
  const tool = typeof name === 'string' && Object.hasOwn(tools, name) ? tools[name] : undefined;
  if (tool === undefined || given === null) return false;
  const parsed = parseArguments(given);
  return !parsed.ok || !checkArguments(tool, parsed.value).ok;
}

/** What the platform says that the rollout called. */
function namedCalls(sample: Sample): readonly Json[] {
  const calls = sample['output_tools'];
  return Array.isArray(calls) ? (calls as readonly Json[]) : [];
}

/** A call that names no tool may be anybody's, so it counts as ours. */
function isOurs(call: Json, tools: Environment['tools']): boolean {
  const name = fieldOf(fieldOf(call, 'function'), 'name');
  return typeof name !== 'string' || Object.hasOwn(tools, name);
}

/** Null where it has none: such a call can match none that we know. */
function idOf(call: Json): string {
  const id = fieldOf(call, 'id');
  return typeof id === 'string' ? id : 'without id';
}

function fieldOf(value: Json, name: string): Json {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? ((value as { readonly [key: string]: Json })[name] ?? null) : null;
}

/**
 * Settles calls that nobody may be waiting for any more, because their gateway died or Redis forgot them: their answers
 * may be in the journal, and one of them may be the reason why the rollout must not be scored.
 */
export async function settleOpenCalls(
  deps: CheckCallsDeps,
  work: GradeWork,
  rollout: RolloutRecord,
  deadline: Deadline,
): Promise<void> {
  const withPatience = <Result>(step: () => Promise<Result>) =>
    retrying(deps, retryPolicies.gradingStep, step, { until: deadline });
  const calls = await withPatience(() => deps.calls.list(rollout.key));
  const settleOne = ({ call }: CallSummary) =>
    withPatience(() => deps.awaitCall(work, rollout, call, deadline)).catch(unlessOurs);
  await Promise.all(calls.filter(isAttachable).map(settleOne));
}

/** Our own, file transfers, have ids that no caller can use; the journal does not have them. */
function isAttachable({ state, call }: CallSummary): boolean {
  return state === 'dispatched' && isIdText(call);
}

/** How a call ended is in fleet state, where beginning a grade finds it; only what nobody understood is thrown. */
function unlessOurs(thrown: unknown): void {
  const failure = asFailure(thrown);
  if (failure.code === 'unclassified') throw failure;
}
