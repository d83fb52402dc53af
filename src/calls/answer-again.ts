import { hasIdsApart, targetOf } from '../claiming/target.ts';
import { asFailure, sandboxdUnreachable } from '../failure/failure.ts';
import type { CallId } from '../model/ids.ts';
import type { Repeated } from '../ports/fleet/calls.ts';
import type { CallSummary, RolloutRecord } from '../ports/fleet/records.ts';
import type { SandboxLink } from '../ports/sandbox-link.ts';
import type { CallAnswer } from '../protocol/sandboxd/wire.ts';
import { Deadline } from '../waiting/deadline.ts';
import { exchange, type ExchangeDeps } from './exchange.ts';
import { isLate, refusedSettlement, reportsFailure, type Result } from './judge-call.ts';
import { answerExpired, answerFrom, settle, type SettlingDeps } from './settling.ts';
import { outputGone, wordedAgain } from './word-again.ts';
import { type Ask, callConflict, type CallResult, type Running, secondRunOf, type Tracked } from './work.ts';

export type AnswerAgainDeps = ExchangeDeps & { readonly link: Pick<SandboxLink, 'attach'> };

type Settled = { readonly summary: CallSummary; readonly repeated: Repeated };

/**
 * The result of a settled call. The record gives the outcome, and the journal of the sandbox in which it ran what was printed. Throws `sandboxd_unreachable` if the sandbox does not respond; a later repeat may succeed.
 */
export async function answerAgain(
  deps: AnswerAgainDeps,
  work: Tracked,
  { summary, repeated }: Settled,
  replayed = true,
): Promise<CallResult> {
  if (repeated.kind !== 'in_journal') return answerFrom(work, { summary, repeated }, replayed);
  const running = runningOf(deps, work, repeated.rollout, summary);
  return { ...(await askJournal(deps, running, summary)), replayed };
}

/** The model's own failure, for which nothing ran: an answer like every other. Throws `call_conflict` for a known id with other arguments. */
export async function settleRefused(
  deps: SettlingDeps & AnswerAgainDeps,
  work: Tracked,
  result: Result,
): Promise<CallResult> {
  const settled = await settle(deps, work, { settlement: refusedSettlement(work, result), result }, 0);
  // The arguments of a rollout that ended long ago are not kept.
  if (settled.digest !== '' && settled.digest !== work.digest) throw callConflict(work.call);
  // The same arguments are refused for the same reason, which its record does not have.
  const { first, summary, repeated } = settled;
  if (first || (repeated.kind === 'ran_nothing' && summary.code === result.code))
    return { ...result, waitedMs: summary.waitedMs, replayed: !first };
  return answerAgain(deps, work, settled);
}

function runningOf(
  { link }: AnswerAgainDeps,
  work: Tracked,
  rollout: RolloutRecord,
  { waitedMs }: CallSummary,
): Running {
  // While its set-up is replayed, the rollout has no sandbox that could be asked.
  if (rollout.state === 'waiting' || rollout.state === 'claimed')
    throw sandboxdUnreachable(`the sandbox of call ${work.call} is being replaced`, { admitted: 'yes' });
  const attachTo =
    (run: CallId): Ask =>
    (waitMs, signal) =>
      link.attach(targetOf(rollout), run, waitMs, signal);
  const [ask, askAgain] = [attachTo(work.call), attachTo(secondRunOf(work.call))];
  return { work, rollout, timeoutMs: 0, waitedMs, sender: null, ask, askAgain };
}

/** For as long as a sandbox that is gone may look as if it were only slow; the request's own patience begins again then. */
const askedMs = 15_000;

async function askJournal(
  deps: AnswerAgainDeps,
  running: Running,
  summary: CallSummary,
): Promise<Omit<CallResult, 'replayed'>> {
  const found = await exchange(deps, running, Deadline.in(deps.clock, askedMs)).catch(nullIfAbsent);
  switch (found?.kind) {
    case 'answered':
      return wordedAgain(running, summary, await lastRun(deps, running, found.answer));
    case 'settled_elsewhere':
      if (found.repeated.kind === 'answer_expired') return lostIn(running, summary);
      return answerAgain(deps, running.work, found);
    case 'unknown':
    case 'unsent':
      throw sandboxdUnreachable(`the answer was not fetched: ${found.detail}`, { admitted: 'yes' });
    case 'forgotten':
    case 'calls_used_up':
    case undefined:
      return lostIn(running, summary);
  }
}

/** Where commands have sandboxd's own id the policy can remove what its sandbox keeps, and must not lose the rollout by it. */
function lostIn({ work, rollout }: Running, summary: CallSummary): Omit<CallResult, 'replayed'> {
  if (!hasIdsApart(rollout)) return outputGone(work, summary);
  throw answerExpired(summary);
}

function nullIfAbsent(thrown: unknown): null {
  if (asFailure(thrown).code === 'unknown_call') return null;
  throw thrown;
}

/** An idempotent call that reported a failed backend may have run once more, and what came of that is its answer. */
export async function lastRun(deps: ExchangeDeps, running: Running, first: CallAnswer): Promise<CallAnswer> {
  const { dependency } = running.work;
  if (dependency?.idempotent !== true || !reportsFailure(dependency, first)) return first;
  const again = { ...running, sender: null, ask: running.askAgain };
  const second = await exchange(deps, again, Deadline.in(deps.clock, askedMs)).catch(nullIfAbsent);
  return second?.kind === 'answered' && !isLate(second.answer) ? second.answer : first;
}
