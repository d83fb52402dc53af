import { refusal } from '../claiming/refusal.ts';
import { hasIdsApart, targetOf } from '../claiming/target.ts';
import type { Timings } from '../model/timings.ts';
import type { CallSummary } from '../ports/fleet/records.ts';
import type { SandboxLink } from '../ports/sandbox-link.ts';
import { type AdmissionDeps, admitOrObtain, type AdmittedCall, removeSender } from './admission.ts';
import {
  callConflict,
  type CallResult,
  type Running,
  secondRunOf,
  type Todo,
  type Tracked,
  type Work,
} from './work.ts';
import {
  judgeAnswer,
  type Judged,
  settlementOfForgotten,
  settlementOfUnknown,
  brokenResult,
  refusedResult,
} from './judge-call.ts';
import { answerAgain, type AnswerAgainDeps, lastRun, settleRefused } from './answer-again.ts';
import { settle, type SettlingDeps } from './settling.ts';
import { Deadline } from '../waiting/deadline.ts';
import type { CallId } from '../model/ids.ts';
import type { CallStore } from '../ports/fleet/calls.ts';
import type { RolloutEvent } from '../ports/event-log.ts';
import { Failure, sandboxdUnreachable } from '../failure/failure.ts';
import type { WorkMetrics } from '../ports/gateway-metrics.ts';
import type { CallAnswer } from '../protocol/sandboxd/wire.ts';
import { exchange } from './exchange.ts';
import { keepCallText } from './keep-call-text.ts';
import { type HeedDeps, type Heeded, heedDependency } from './heed-dependency.ts';
import type { DependencyProbes } from './probe-dependencies.ts';
import { longestPauseMs, startBound, type StartBoundDeps } from './start-bound.ts';
import type { Joined, Ongoing } from '../waiting/ongoing.ts';
import { wordedAgain } from './word-again.ts';

/** What it takes to bring a call that was sent to its end. */
export type CarryOutDeps = HeedDeps &
  SettlingDeps &
  AnswerAgainDeps & {
    readonly link: Pick<SandboxLink, 'attach' | 'settled'>;
    readonly probes: Pick<DependencyProbes, 'during'>;
    readonly calls: Pick<CallStore, 'unsent'>;
    readonly ongoing: Ongoing<CallResult>;
    readonly work: Pick<WorkMetrics, 'callAnswered'>;
    readonly timings: Pick<Timings, 'settleGraceMs'>;
  };

export type RunCallDeps = AdmissionDeps &
  CarryOutDeps &
  StartBoundDeps & { readonly link: Pick<SandboxLink, 'call' | 'attach' | 'settled'> };

/**
 * A tool call from request to answer:
 *
 *   admit ──not active──▶ obtain a sandbox ──▶ admit      (calls after the first are admitted at once)
 *     │
 *     ├─ settled ─────────▶ the recorded answer, replayed
 *     ├─ refused, broken ─▶ the model's own failure: settled as such, an answer
 *     └─ dispatch ────────▶ exchange with sandboxd ──▶ heed probes ──▶ judge ──▶ settle once ──▶ the answer, stored before it is sent
 *                             └─ never sent ──▶ taken back: `sandboxd_unreachable`
 *
 * Whoever asks waits until `deadline`; the work itself goes on and a repeat attaches. Throws only `Failure`; what may pass is
 * for the caller to try again, from the top.
 */
export async function runCall(deps: RunCallDeps, work: Work, deadline: Deadline): Promise<CallResult> {
  return untilDeadline(deps, work, await beginCall(deps, work, deadline), deadline);
}

/** The same until it is known that the call was sent, or that nothing is to be sent; its result may come much later. */
export async function beginCall(
  deps: RunCallDeps,
  work: Work,
  deadline: Deadline,
): Promise<Joined<CallResult>> {
  const startedMs = deps.clock.monotonicMs();
  const { todo } = work;
  if (todo.kind === 'refuse') return known(await refuse(deps, work, todo));
  return joinOngoing(deps, work) ?? admitAndSend(deps, { ...work, todo }, startedMs, deadline);
}

const known = (result: CallResult): Joined<CallResult> => ({
  result: Promise.resolve(result),
  joined: false,
});

async function admitAndSend(
  deps: RunCallDeps,
  work: Sendable,
  startedMs: number,
  deadline: Deadline,
): Promise<Joined<CallResult>> {
  const admitted = await admitOrObtain(deps, work, work.todo.request.timeoutMs, deadline);
  const waitedMs = Math.round(deps.clock.monotonicMs() - startedMs);
  switch (admitted.kind) {
    case 'in_journal':
    case 'ran_nothing':
    case 'output_gone':
    case 'answer_expired':
      return known(await answerAgain(deps, work, { summary: admitted.summary, repeated: admitted }));
    case 'conflict':
      throw callConflict(work.call);
    case 'refused':
      return known(await settleRefused(deps, work, refusedResult(work, admitted.reason)));
    case 'broken':
      return known(await settleRefused(deps, work, brokenResult(work, admitted.rollout.broken ?? 'unknown')));
    case 'dispatch':
      return startOngoing(deps, sending(deps, work, admitted, waitedMs, deadline));
  }
}

type Sendable = Work & { readonly todo: Extract<Todo, { kind: 'run' }> };

function sending(
  deps: RunCallDeps,
  work: Sendable,
  { rollout, timeLeftMs, sender }: Extract<AdmittedCall, { kind: 'dispatch' }>,
  waitedMs: number,
  deadline: Deadline,
): Running {
  const maxPauseMs = longestPauseMs(deps.timings, work.claim.face, work.todo.request, deadline);
  const request = { ...work.todo.request, maxPauseMs };
  const target = targetOf(rollout);
  const bound = startBound(deps, work, timeLeftMs);
  const sendAs =
    (call: CallId): Running['ask'] =>
    async (waitMs, signal) =>
      deps.link.call(target, call, { ...request, ...(await bound()) }, waitMs, signal);
  const [ask, askAgain] = [sendAs(work.call), sendAs(secondRunOf(work.call))];
  return { work, rollout, timeoutMs: request.timeoutMs, waitedMs, sender, ask, askAgain };
}

/** A call that the model got wrong: recorded like every other, in a rollout that it may have to open first. */
async function refuse(
  deps: RunCallDeps,
  work: Work,
  todo: Extract<Todo, { kind: 'refuse' }>,
): Promise<CallResult> {
  const claim = await deps.claims.claim(work.claim);
  if (claim.kind === 'refused') throw refusal(claim.code, claim.rollout);
  return settleRefused(deps, work, refusedResult(work, todo.code, todo.text));
}

/** Joins the work of this process on the call, or starts it; leaves with `still_running` when the time is up. */
export async function awaitOngoing(
  deps: CarryOutDeps,
  running: Running,
  deadline: Deadline,
): Promise<CallResult> {
  return untilDeadline(deps, running.work, startOngoing(deps, running), deadline);
}

const startOngoing = (deps: CarryOutDeps, running: Running): Joined<CallResult> =>
  deps.ongoing.join(nameOf(running.work), () => carryOutProbed(deps, running));

/**
 * Joins the work of this process on the call, if there is any; else null. A repeat that came here needs no admission of its
 * own, and asking for one would look like somebody else who sends the call.
 */
function joinOngoing(deps: CarryOutDeps, work: Tracked): Joined<CallResult> | null {
  const result = deps.ongoing.find(nameOf(work));
  return result === null ? null : { result, joined: true };
}

/** With other arguments it is another call: admission finds the conflict. */
const nameOf = ({ key, call, digest }: Tracked): string => `${key} ${call} ${digest}`;

async function untilDeadline(
  deps: CarryOutDeps,
  { call }: Tracked,
  ongoing: Joined<CallResult>,
  deadline: Deadline,
): Promise<CallResult> {
  const result = await deps.ongoing.until(ongoing.result, deadline);
  if (result !== 'still_running') return ongoing.joined ? { ...result, replayed: true } : result;
  throw new Failure('still_running', `call ${call} is still running; send it again to wait for it`, {
    admitted: 'yes',
  });
}

/** While a call may report that its backend has failed, that backend is probed. */
async function carryOutProbed(deps: CarryOutDeps, running: Running): Promise<CallResult> {
  const { work, sender } = running;
  if (work.dependency === null) return carryOut(deps, running);
  const call = { rollout: work.key, counted: sender !== null };
  return deps.probes.during(work.dependency, call, () => carryOut(deps, running));
}

async function carryOut(deps: CarryOutDeps, running: Running): Promise<CallResult> {
  const beganMs = deps.clock.monotonicMs();
  const deadline = Deadline.in(deps.clock, running.timeoutMs + deps.timings.settleGraceMs);
  const sent = await exchange(deps, running, deadline);
  const exchanged: Heeded = sent.kind === 'answered' ? await heed(deps, running, sent.answer) : sent;
  switch (exchanged.kind) {
    case 'settled_elsewhere':
      if (wentDown(running.work, exchanged.summary)) {
        deps.record(lostCommandEvent(running.work, deps.clock.nowMs()));
        keepCallText(deps, running.work, null);
      }
      return answerAgain(deps, running.work, exchanged);
    case 'unknown':
      return settleWithoutAnswer(deps, running, settlementOfUnknown(running.work, exchanged));
    case 'unsent':
      return takeBack(deps, running, exchanged);
    case 'calls_used_up':
      return settleRefused(deps, running.work, refusedResult(running.work, 'budget_spent'));
    case 'forgotten':
      return settleWithoutAnswer(deps, running, settlementOfForgotten(running.work));
    case 'answered':
      return settleAnswer(deps, running, exchanged, beganMs);
  }
}

/** What was settled with an answer, and Redis has forgotten, is not judged again: probes could not say now what they said then. */
async function heed(deps: CarryOutDeps, running: Running, first: CallAnswer): Promise<Heeded> {
  if (first.settled !== true || !hasIdsApart(running.rollout)) return heedDependency(deps, running, first);
  const answer = await lastRun(deps, running, first);
  return { kind: 'answered', answer, backend: null, runs: [] };
}

/**
 * Unless another try may send it too, it has no outcome now, and a repeat may run. A process that only asks how it ended cannot
 * withdraw it; a controller finds out when its time is over.
 */
async function takeBack(
  deps: CarryOutDeps,
  { work, sender }: Running,
  { tries, detail }: { readonly tries: number; readonly detail: string },
): Promise<never> {
  if (sender !== null) await removeSender(deps, work, sender);
  const message =
    sender !== null
      ? 'the call could not be sent'
      : 'the outcome of the call is unknown: its sandbox did not answer';
  throw sandboxdUnreachable(`${message}: ${detail}`, {
    admitted: sender !== null ? 'no' : 'unknown',
    evidence: { call: work.call, tries },
  });
}

/** Whether its sandbox was lost under it, by whomever, and we are the ones who know what it had run. */
function wentDown({ command }: Tracked, { outcome, code }: CallSummary): boolean {
  return command !== '' && (outcome === 'infrastructure_failure' || code === 'sandbox_broken');
}

/** What the call had run that its sandbox's loss has settled. */
function lostCommandEvent(work: Tracked, atMs: number): RolloutEvent {
  const { key, keyId, environment, call, command } = work;
  const { name, version } = environment;
  return { kind: 'lost_command', atMs, key, keyId, environment: name, version, call, command };
}

async function settleAnswer(
  deps: CarryOutDeps,
  running: Running,
  { answer, backend, runs }: Extract<Heeded, { kind: 'answered' }>,
  beganMs: number,
): Promise<CallResult> {
  const { work, rollout, waitedMs } = running;
  const judged = judgeAnswer(running, answer, backend);
  const settled = await settle(deps, work, judged, waitedMs, rollout);
  if (settled.first && running.sender !== null) tellParts(deps, running, answer, beganMs);
  // What tainted stays in the journal: should Redis forget the taint, whoever asks for the answer judges it again.
  if (judged.result !== null) deps.link.settled(targetOf(rollout), runs);
  if (settled.first && judged.result !== null) return { ...judged.result, waitedMs, replayed: false };
  if (settled.repeated.kind === 'in_journal')
    return { ...wordedAgain(running, settled.summary, answer), replayed: true };
  // If another process settled it first, its rollout may be over by now. This process has the answer.
  if (settled.repeated.kind === 'answer_expired' && judged.result !== null)
    return { ...judged.result, waitedMs, replayed: true };
  return answerAgain(deps, work, settled, !settled.first);
}

/** Of a call that was only attached to nobody here knows how long it took. */
function tellParts(
  { work: metrics, clock }: CarryOutDeps,
  { work, waitedMs }: Running,
  { evidence }: CallAnswer,
  beganMs: number,
): void {
  const commandMs = evidence.durationMs;
  const overheadMs = Math.max(0, clock.monotonicMs() - beganMs - commandMs);
  metrics.callAnswered(work.environment.name, { waitedMs, commandMs, overheadMs });
}

async function settleWithoutAnswer(
  deps: CarryOutDeps,
  { work, rollout, waitedMs }: Running,
  settlement: Judged['settlement'],
): Promise<CallResult> {
  const settled = await settle(deps, work, { settlement, result: null }, waitedMs, rollout);
  return answerAgain(deps, work, settled);
}
