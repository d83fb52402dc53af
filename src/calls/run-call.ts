import type { Deadline } from '../waiting/deadline.ts';
import { refusal } from '../claiming/refusal.ts';
import { targetOf } from '../claiming/target.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import type { SandboxLink } from '../ports/sandbox-link.ts';
import { admitOrObtain } from './admission.ts';
import type { AdmissionDeps } from './admission.ts';
import { callConflict } from './work.ts';
import type { CallResult, Running, Todo, Work } from './work.ts';
import { awaitOngoing, joinOngoing } from './carry-out.ts';
import type { CarryOutDeps } from './carry-out.ts';
import { brokenResult, refusedResult } from './judge-call.ts';
import { answerExpired, answerFrom, settleRefused } from './settling.ts';

export type RunCallDeps = AdmissionDeps & CarryOutDeps & { readonly link: Pick<SandboxLink, 'call'> };

/**
 * A tool call from request to answer:
 *
 *   admit ──not active──▶ obtain a sandbox ──▶ admit      (calls after the first are admitted at once)
 *     │
 *     ├─ settled ─────────▶ the recorded answer, replayed
 *     ├─ refused, broken ─▶ the model's own failure: settled as such, an answer
 *     └─ dispatch ────────▶ exchange with sandboxd ──▶ judge ──▶ settle once ──▶ the answer, stored before it is sent
 *                             └─ never sent ──▶ taken back: `sandboxd_unreachable`
 *
 * Whoever asks waits until `deadline`; the work itself goes on and a repeat attaches. Throws only `Failure`; what may pass is
 * for the caller to try again, from the top.
 */
export async function runCall(deps: RunCallDeps, work: Work, deadline: Deadline): Promise<CallResult> {
  const startedMs = deps.clock.monotonicMs();
  const { todo } = work;
  if (todo.kind === 'refuse') return refuse(deps, work, todo);
  return (
    joinOngoing(deps, work, deadline) ?? (await admitAndSend(deps, { ...work, todo }, startedMs, deadline))
  );
}

async function admitAndSend(
  deps: RunCallDeps,
  work: Sendable,
  startedMs: number,
  deadline: Deadline,
): Promise<CallResult> {
  const admitted = await admitOrObtain(deps, work, work.todo.request.timeoutMs, deadline);
  const waitedMs = Math.round(deps.clock.monotonicMs() - startedMs);
  switch (admitted.kind) {
    case 'settled':
      return answerFrom(deps, work, admitted);
    case 'answer_expired':
      throw answerExpired(admitted.summary);
    case 'conflict':
      throw callConflict(work.call);
    case 'refused':
      return settleRefused(deps, work, refusedResult(work, admitted.reason));
    case 'broken':
      return settleRefused(deps, work, brokenResult(work, admitted.rollout.broken ?? 'unknown'));
    case 'dispatch':
      return awaitOngoing(deps, sending(deps, work, admitted.rollout, waitedMs), deadline);
  }
}

type Sendable = Work & { readonly todo: Extract<Todo, { kind: 'run' }> };

function sending(deps: RunCallDeps, work: Sendable, rollout: RolloutRecord, waitedMs: number): Running {
  const { request } = work.todo;
  const target = targetOf(rollout);
  const ask: Running['ask'] = (waitMs, signal) => deps.link.call(target, work.call, request, waitMs, signal);
  return { work, rollout, timeoutMs: request.timeoutMs, waitedMs, toSend: true, ask };
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
