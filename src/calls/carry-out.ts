import { Deadline } from '../waiting/deadline.ts';
import { targetOf } from '../claiming/target.ts';
import { Failure } from '../failure/failure.ts';
import type { CallSummary } from '../ports/fleet/records.ts';
import type { CallAnswer } from '../protocol/sandboxd/wire.ts';
import type { CallResult } from './call-result.ts';
import type { Confirmations } from './confirmations.ts';
import { exchange } from './exchange.ts';
import type { ExchangeDeps } from './exchange.ts';
import type { Judged } from './judge-answer.ts';
import { settlementOfForgotten, settlementOfUnknown } from './losses.ts';
import type { Ongoing } from '../waiting/ongoing.ts';
import { answerFrom, judgeNow, settle } from './settling.ts';
import type { SettlingDeps } from './settling.ts';
import { lostCommandEvent } from './settled-event.ts';
import type { Running, Tracked } from './work.ts';

export type CarryOutDeps = ExchangeDeps &
  SettlingDeps & {
    readonly ongoing: Ongoing<CallResult>;
    readonly confirmations: Pick<Confirmations, 'add'>;
  };

/** Beyond the command's own timeout: what killing its tree, a busy machine and a redial may take. */
export const settleGraceMs = 30_000;

/** Joins the work of this process on the call, or starts it; leaves with `still_running` when the time is up. */
export async function awaitOngoing(
  deps: CarryOutDeps,
  running: Running,
  deadline: Deadline,
): Promise<CallResult> {
  const { key, call } = running.work;
  const ongoing = deps.ongoing.join(`${key} ${call}`, () => carryOut(deps, running));
  const result = await deps.ongoing.until(ongoing.result, deadline);
  if (result !== 'still_running') return ongoing.joined ? { ...result, replayed: true } : result;
  throw new Failure('still_running', `call ${call} is still running; send it again to wait for it`, {
    admitted: 'yes',
  });
}

async function carryOut(deps: CarryOutDeps, running: Running): Promise<CallResult> {
  const deadline = Deadline.in(deps.clock, running.timeoutMs + settleGraceMs);
  const exchanged = await exchange(deps, running, deadline);
  switch (exchanged.kind) {
    case 'settled_elsewhere':
      if (wentDown(running.work, exchanged.summary))
        deps.record(lostCommandEvent(running.work, deps.clock.nowMs()));
      return answerFrom(deps, running.work, exchanged);
    case 'unknown':
      return settleWithoutAnswer(deps, running, settlementOfUnknown(running.work, exchanged));
    case 'forgotten':
      return settleWithoutAnswer(deps, running, settlementOfForgotten(running.work));
    case 'answered':
      return settleAnswer(deps, running, exchanged.answer);
  }
}

/** Whether its sandbox was lost under it, by whomever, and we are the ones who know what it had run. */
function wentDown({ command }: Tracked, { outcome, code }: CallSummary): boolean {
  return command !== '' && (outcome === 'infrastructure_failure' || code === 'sandbox_broken');
}

async function settleAnswer(deps: CarryOutDeps, running: Running, answer: CallAnswer): Promise<CallResult> {
  const { work, rollout, waitedMs } = running;
  const judged = await judgeNow(deps, running, answer);
  const settled = await settle(deps, work, judged, waitedMs, rollout);
  // What tainted stays in the journal: should Redis forget the taint, whoever asks for the answer judges it again.
  if (judged.result !== null) deps.confirmations.add(targetOf(rollout), work.call, answer);
  if (settled.first && judged.result !== null) return { ...judged.result, waitedMs, replayed: false };
  return answerFrom(deps, work, settled, !settled.first);
}

async function settleWithoutAnswer(
  deps: CarryOutDeps,
  { work, rollout, waitedMs }: Running,
  settlement: Judged['settlement'],
): Promise<CallResult> {
  const settled = await settle(deps, work, { settlement, result: null }, waitedMs, rollout);
  return answerFrom(deps, work, settled);
}
