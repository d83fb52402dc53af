import { Deadline } from '../claiming/deadline.ts';
import { obtainSandbox, type ObtainDeps, type Occupied } from '../claiming/obtain-sandbox.ts';
import { patiently } from '../claiming/patience.ts';
import { refusal } from '../claiming/refusal.ts';
import { targetOf } from '../claiming/move-in.ts';
import { Failure } from '../failure/failure.ts';
import type { FleetEvent } from '../ports/event-log.ts';
import type { AdmitReply, CallStore, Settlement, SettleReply } from '../ports/fleet/calls.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import type { CallAnswer } from '../protocol/sandboxd/wire.ts';
import { answerText, brokenResult, refusedResult, refusedSettlement } from './model-failures.ts';
import type { CallResult, StoredResult } from './call-result.ts';
import { exchange, type Exchanged, type ExchangeDeps } from './exchange.ts';
import { judgeAnswer, type Judged } from './judge-answer.ts';
import { lossFailure, settlementOfUnknown } from './losses.ts';
import type { OngoingCalls } from './ongoing-calls.ts';
import { settledEvent } from './settled-event.ts';
import type { Todo, Work } from './work.ts';

export type RunCallDeps = ObtainDeps &
  ExchangeDeps & {
    readonly calls: CallStore;
    readonly ongoing: OngoingCalls;
    readonly record: (event: FleetEvent) => void;
    readonly confirm: (rollout: RolloutRecord, work: Work) => void;
  };

/** Beyond the command's own timeout: what killing its tree, a busy machine and a redial may take. */
const settleGraceMs = 30_000;
/** The longest wait for a sandbox, and what must be left of the request for the command after it. */
const longestLineMs = 300_000;
const lineReserveMs = 10_000;

/**
 * A tool call from request to answer:
 *
 *   admit ──not active──▶ obtain a sandbox ──▶ admit      (calls after the first are admitted at once)
 *     │
 *     ├─ settled ─────────▶ the recorded answer, replayed
 *     ├─ refused, broken ─▶ the model's own failure: settled as such, an answer
 *     └─ dispatch ────────▶ exchange with sandboxd ──▶ judge ──▶ settle once ──▶ the answer, stored before it is sent
 *
 * Whoever asks waits until `deadline`; the work itself goes on and a repeat attaches. Throws only `Failure`.
 */
export async function runCall(deps: RunCallDeps, work: Work, deadline: Deadline): Promise<CallResult> {
  const startedMs = deps.clock.monotonicMs();
  if (work.todo.kind === 'refuse') return refuse(deps, work, work.todo, deadline);
  const admitted = await admitOrObtain(deps, work, work.todo, deadline);
  const waitedMs = Math.round(deps.clock.monotonicMs() - startedMs);
  switch (admitted.kind) {
    case 'settled':
      return fromRecord(deps, work, admitted);
    case 'answer_expired':
      throw new Failure('answer_expired', `the answer of call ${work.call} is no longer kept`);
    case 'conflict':
      throw new Failure(
        'call_conflict',
        `call ${work.call} was sent before with other arguments; use a new call id`,
      );
    case 'refused':
      return settleRefused(deps, work, refusedResult(work, admitted.reason));
    case 'broken':
      return settleRefused(deps, work, brokenResult(work, admitted.rollout.broken ?? 'unknown'));
    case 'dispatch':
      return awaitOngoing(deps, work, work.todo, admitted, waitedMs, deadline);
  }
}

type Admitted = Exclude<AdmitReply, { kind: 'not_active' | 'barred' }>;
type RunTodo = Extract<Todo, { kind: 'run' }>;

async function admitOrObtain(
  deps: RunCallDeps,
  work: Work,
  todo: RunTodo,
  deadline: Deadline,
): Promise<Admitted> {
  const lineUntil = deadline.earlier(todo.request.timeoutMs + lineReserveMs).orIn(longestLineMs);
  return patiently(deps.clock, deadline, async () => {
    let occupied: Occupied | null = null;
    for (;;) {
      const reply = await admit(deps.calls, work, todo, occupied);
      if (reply.kind === 'barred') throw refusal(reply.code, reply.rollout);
      if (reply.kind !== 'not_active') return reply;
      // Another gateway may have swapped the sandbox between our bind and our admission: then obtain again.
      occupied = await obtainSandbox(deps, work.environment, work.claim, lineUntil);
    }
  });
}

function admit(calls: CallStore, work: Work, todo: RunTodo, occupied: Occupied | null): Promise<AdmitReply> {
  const { limits } = work.environment;
  return calls.admit({
    key: work.key,
    call: work.call,
    tool: work.tool,
    digest: work.digest,
    timeoutMs: todo.request.timeoutMs + settleGraceMs,
    idleMs: limits.idleMs,
    budget: work.counted ? { toolCalls: limits.toolCalls, rolloutMs: limits.rolloutMs } : null,
    activation: occupied?.activation ?? null,
  });
}

/** Joins the work of this process on the call, or starts it; leaves with `still_running` when the time is up. */
async function awaitOngoing(
  deps: RunCallDeps,
  work: Work,
  todo: RunTodo,
  admitted: Extract<AdmitReply, { kind: 'dispatch' }>,
  waitedMs: number,
  deadline: Deadline,
): Promise<CallResult> {
  const ongoing = deps.ongoing.join(work.key, work.call, () =>
    carryOut(deps, work, todo, admitted.rollout, waitedMs),
  );
  const result = await deps.ongoing.until(ongoing.result, deadline);
  if (result !== 'still_running') return ongoing.joined ? { ...result, replayed: true } : result;
  throw new Failure('still_running', `call ${work.call} is still running; send it again to wait for it`, {
    admitted: 'yes',
  });
}

async function carryOut(
  deps: RunCallDeps,
  work: Work,
  todo: RunTodo,
  rollout: RolloutRecord,
  waitedMs: number,
): Promise<CallResult> {
  const deadline = Deadline.in(deps.clock, todo.request.timeoutMs + settleGraceMs);
  const dispatched = { key: work.key, call: work.call, target: targetOf(rollout), request: todo.request };
  const exchanged = await exchange(deps, dispatched, deadline);
  switch (exchanged.kind) {
    case 'settled_elsewhere':
      return fromRecord(deps, work, exchanged);
    case 'unknown':
      return settleUnknown(deps, work, todo, rollout, exchanged, waitedMs);
    case 'answered':
      return settleAnswer(deps, work, todo, rollout, exchanged.answer, waitedMs);
  }
}

async function settleAnswer(
  deps: RunCallDeps,
  work: Work,
  todo: RunTodo,
  rollout: RolloutRecord,
  answer: CallAnswer,
  waitedMs: number,
): Promise<CallResult> {
  const judged = judgeAnswer(work, todo, answer, targetOf(rollout));
  const settled = await settle(deps, work, todo, rollout, judged, waitedMs);
  deps.confirm(rollout, work);
  return fromRecord(deps, work, settled, !settled.first);
}

async function settleUnknown(
  deps: RunCallDeps,
  work: Work,
  todo: RunTodo,
  rollout: RolloutRecord,
  unknown: Extract<Exchanged, { kind: 'unknown' }>,
  waitedMs: number,
): Promise<CallResult> {
  const judged = { settlement: settlementOfUnknown(work, unknown), result: null };
  return fromRecord(deps, work, await settle(deps, work, todo, rollout, judged, waitedMs));
}

/** How long a finished answer waits for a Redis that does not answer; the journal keeps it for whoever asks later. */
const storePatienceMs = 120_000;

/** Stored before it is sent. The first to store it also writes the event. */
async function settle(
  deps: RunCallDeps,
  work: Work,
  todo: Todo,
  rollout: RolloutRecord | null,
  judged: Judged,
  waitedMs: number,
): Promise<SettleReply> {
  const answer = judged.result === null ? null : answerText({ ...judged.result, waitedMs });
  const settlement: Settlement = { ...judged.settlement, waitedMs, answer };
  const reply = await patiently(deps.clock, Deadline.in(deps.clock, storePatienceMs), () =>
    deps.calls.settle(settlement),
  );
  if (reply.first)
    deps.record(settledEvent(work, todo, reply.summary, rollout, settlement, deps.clock.nowMs()));
  return reply;
}

/** A call that the model got wrong: recorded like every other, in a rollout that it may have to open first. */
async function refuse(
  deps: RunCallDeps,
  work: Work,
  todo: Extract<Todo, { kind: 'refuse' }>,
  deadline: Deadline,
): Promise<CallResult> {
  const claim = await patiently(deps.clock, deadline, () => deps.claims.claim(work.claim));
  if (claim.kind === 'refused') throw refusal(claim.code, claim.rollout);
  return settleRefused(deps, work, refusedResult(work, todo.code, todo.text));
}

async function settleRefused(
  deps: RunCallDeps,
  work: Work,
  result: Omit<StoredResult, 'waitedMs'>,
): Promise<CallResult> {
  const judged = { settlement: refusedSettlement(work, result), result };
  const settled = await settle(deps, work, work.todo, null, judged, 0);
  return fromRecord(deps, work, settled, !settled.first);
}

/** The answer as it was stored, whoever stored it. */
async function fromRecord(
  deps: RunCallDeps,
  work: Work,
  recorded: Pick<SettleReply, 'answer' | 'summary'>,
  replayed = true,
): Promise<CallResult> {
  const { answer, summary } = recorded;
  if (answer !== null) return { ...(JSON.parse(answer) as StoredResult), replayed };
  if (summary.code === 'sandbox_broken')
    return { ...brokenResult(work, 'lost while it ran'), waitedMs: 0, replayed };
  if (summary.outcome !== 'infrastructure_failure') {
    throw new Failure('answer_expired', `the answer of call ${work.call} is no longer kept`);
  }
  throw lossFailure(await deps.claims.find(work.claim.owner, work.claim.owner.attempt), summary);
}
