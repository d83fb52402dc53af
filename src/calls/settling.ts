import { type RetryDeps, retrying } from '../waiting/retries.ts';
import { retryPolicies } from '../waiting/retry-policies.ts';
import { type Evidence, Failure } from '../failure/failure.ts';
import { refusal } from '../claiming/refusal.ts';
import type { FleetEvent, RolloutEvent } from '../ports/event-log.ts';
import type { CallStore, Settlement, SettleReply } from '../ports/fleet/calls.ts';
import type { ClaimStore } from '../ports/fleet/claims.ts';
import type { CallSummary, RolloutRecord } from '../ports/fleet/records.ts';
import { keepsCalls } from '../model/grader-leaves.ts';
import type { CallAnswer } from '../protocol/sandboxd/wire.ts';
import { keptOutput } from './kept-texts.ts';
import { callConflict, type CallResult, type Running, type StoredResult, type Tracked } from './work.ts';
import {
  judgeAnswer,
  type Judged,
  type Result,
  saysBackendFailed,
  brokenWhileRunning,
  refusedSettlement,
} from './judge-call.ts';
import { blameOf, failureCodes } from '../failure/codes.ts';

export type SettlingDeps = RetryDeps & {
  readonly calls: Pick<CallStore, 'settle' | 'lookup'>;
  readonly claims: Pick<ClaimStore, 'find'>;
  readonly record: (event: FleetEvent) => void;
};

/**
 * Judges an answer. What says that a backend failed is judged by the rollout as it is now, after the tool has ended:
 * whatever the trainer ran beside it was recorded before it ran.
 */
export async function judgeNow(
  deps: RetryDeps & Pick<SettlingDeps, 'claims'>,
  { work, rollout }: Pick<Running, 'work' | 'rollout'>,
  answer: CallAnswer,
): Promise<Judged> {
  if (!saysBackendFailed(work, answer)) return judgeAnswer({ work, rollout }, answer);
  const { owner } = work.claim;
  const find = () => deps.claims.find(owner, owner.attempt);
  const now = await retrying(deps, retryPolicies.storedAnswer, find);
  return judgeAnswer({ work, rollout: now ?? rollout }, answer);
}

/**
 * Stored before it is sent. The first to store it also writes the event. What a taint ends with it, the verdict and the other
 * calls in flight, the store of the wiring writes down behind `settle`: `recordTaints` in lifecycle/record-ends.ts.
 */
export async function settle(
  deps: SettlingDeps,
  work: Tracked,
  judged: Judged,
  waitedMs: number,
  rollout: RolloutRecord | null = null,
): Promise<SettleReply> {
  const answer = judged.result === null ? null : JSON.stringify({ ...judged.result, waitedMs });
  const ranIn = rollout?.epoch?.sandbox;
  const known = { waitedMs, answer, keyId: work.keyId, ...(ranIn && { ranIn }), ...textsOf(work, judged) };
  const settlement = { ...judged.settlement, ...known } satisfies Settlement;
  const reply = await retrying(deps, retryPolicies.storedAnswer, () => deps.calls.settle(settlement));
  if (reply.first) deps.record(settledEvent(work, reply.summary, rollout, settlement, deps.clock.nowMs()));
  return reply;
}

/** For graders that look at calls: what was asked for, where it is known here, and what the model read. */
function textsOf(
  { environment, said }: Tracked,
  { result }: Judged,
): Pick<Settlement, 'arguments' | 'output'> {
  if (!keepsCalls(environment)) return {};
  return { ...(said && { arguments: said }), ...(result && { output: keptOutput(result.output) }) };
}

/** The model's own failure, for which nothing ran: an answer like every other. Throws `call_conflict` for a known id with other arguments. */
export async function settleRefused(deps: SettlingDeps, work: Tracked, result: Result): Promise<CallResult> {
  const settled = await settle(deps, work, { settlement: refusedSettlement(work, result), result }, 0);
  // Of a rollout that is long over nobody knows the arguments any more.
  if (settled.digest !== '' && settled.digest !== work.digest) throw callConflict(work.call);
  return answerFrom(deps, work, settled, !settled.first);
}

/** The answer as it was stored, whoever stored it. */
export async function answerFrom(
  deps: SettlingDeps,
  work: Tracked,
  recorded: Pick<SettleReply, 'answer' | 'summary'>,
  replayed = true,
): Promise<CallResult> {
  const { answer, summary } = recorded;
  if (answer !== null) return { ...(JSON.parse(answer) as StoredResult), replayed };
  const rollout = await deps.claims.find(work.claim.owner, work.claim.owner.attempt);
  if (summary.code === 'sandbox_broken')
    return { ...brokenWhileRunning(work, rollout?.broken ?? unsaid), waitedMs: summary.waitedMs, replayed };
  if (summary.outcome === 'infrastructure_failure') throw lossFailure(rollout, summary);
  // Only closing a rollout settles a call as cancelled without an answer.
  if (summary.outcome === 'cancelled') throw refusal('rollout_closed', rollout, summary.admitted);
  throw answerExpired(summary);
}

/**
 * What a caller is told of a call that settled as an infrastructure failure: the code of its rollout's taint, which may be another
 * than the call's own, with the taint's evidence. The call's own is in its summary, and in the event log; it is told where
 * nothing is tainted, as of a rollout that has its score. A repeat is told the same, by `settledReply` in scripts/calls.lua.
 */
export function lossFailure(rollout: RolloutRecord | null, summary: CallSummary): Failure {
  const own = failureCodes.find((code) => code === summary.code);
  const told = refusal(rollout?.taint?.code ?? own ?? 'outcome_unknown', rollout, summary.admitted);
  const evidence = { ...told.evidence, call: summary.call, sandbox: summary.sandbox };
  return new Failure(told.code, told.message, { admitted: summary.admitted, evidence });
}

/** It did run; whoever would do it again under another id must know that. */
export const answerExpired = ({ call, admitted }: CallSummary): Failure =>
  new Failure('answer_expired', `the answer of call ${call} is no longer kept`, { admitted });

/** The rollout's record outlives its calls, so this is hardly ever read. */
const unsaid = 'it used up what it had';

/** The one line that the event log keeps of a settled call. */
function settledEvent(
  work: Tracked,
  summary: CallSummary,
  rollout: RolloutRecord | null,
  settlement: Settlement,
  atMs: number,
): RolloutEvent {
  return {
    kind: 'call_settled',
    atMs,
    key: work.key,
    keyId: work.keyId,
    environment: work.environment.name,
    version: work.environment.version,
    summary,
    blame: blameOf(summary.code),
    epoch: rollout?.epoch ?? null,
    lastCommand: work.command,
    evidence: { ...answeredBy(settlement, rollout), ...settlement.taint?.evidence },
  };
}

/** An answer from any other life than the one the call went to is refused, so the boot after it is the boot before. */
function answeredBy({ durationMs }: Settlement, rollout: RolloutRecord | null): Evidence {
  const boot = rollout?.epoch?.boot ?? null;
  return durationMs === null || boot === null ? {} : { boot_after: boot };
}
