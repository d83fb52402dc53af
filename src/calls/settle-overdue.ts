import { LinkError, type SandboxLink } from '../ports/sandbox-link.ts';
import { hasIdsApart, targetOf } from '../claiming/target.ts';
import { undisturbed } from '../claiming/undisturbed.ts';
import { repeatedClaim } from '../claiming/claim-request.ts';
import { type CallId, isIdText } from '../model/ids.ts';
import type { CallStore, OverdueCall } from '../ports/fleet/calls.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import type { LifecycleStore } from '../ports/fleet/lifecycle.ts';
import type { EnvironmentStore } from '../ports/fleet/registry.ts';
import type { Timings } from '../model/timings.ts';
import type { Log } from '../ports/log.ts';
import { askProbes, type AskProbesDeps, type Heeded } from './heed-dependency.ts';
import { judgeAnswer, reportsFailure, settlementOfForgotten, settlementOfUnknown } from './judge-call.ts';
import { trackedCall } from './plan-call.ts';
import { settle, type SettlingDeps } from './settling.ts';
import { settleTransfer } from './transfer.ts';
import { secondRunOf, type Tracked } from './work.ts';
import type { LossCause } from '../failure/codes.ts';
import { type Evidence, Failure, sandboxdUnreachable } from '../failure/failure.ts';
import type { CallAnswer } from '../protocol/sandboxd/wire.ts';
import { noneFailed, NotYet, type RetryDeps, retrying } from '../waiting/retries.ts';
import { retryPolicies } from '../waiting/retry-policies.ts';
import { wasConfirmed } from './exchange.ts';
import { believedStep } from './next-step.ts';

export type OverdueTools = Omit<SettlingDeps & AskProbesDeps, 'calls'> & {
  readonly calls: Pick<CallStore, 'overdue' | 'withdraw' | 'settle' | 'lookup'>;
  readonly lifecycle: Pick<LifecycleStore, 'lose'>;
  readonly link: Pick<SandboxLink, 'attach' | 'settled'>;
  readonly environments: Pick<EnvironmentStore, 'load'>;
  readonly timings: Pick<Timings, 'overdueCallMs' | 'overdueAgainMs'>;
  readonly log: Log;
};

/** What became of an overdue call. */
export type OverdueEnd = 'settled' | 'withdrawn' | 'lost' | 'left';

/** Of one pass; the calls of a gateway that was killed, in a few of them. */
const limit = 32;

/**
 * Calls whose gateway died after it had sent them, and that nobody sent again, hold their rollout: it cannot be graded and
 * does not expire. When its deadline has passed, a call's sandbox is asked what came of it:
 *
 *   answered      settled by that answer, as its gateway would have
 *   running       left: the sandbox ends it at its own timeout, and it is asked about again
 *   not known     it never arrived and nothing ran: withdrawn, so that a repeat may run
 *   another life  the sandbox that was meant is gone: the one door of loss
 *   no answer     nobody can say whether it ran: `outcome_unknown`; likewise where nobody knows its environment
 *
 * Safe beside gateways that live and other controllers: a call settles once, and one that was sent again is not withdrawn.
 * Returns what became of how many. Throws the first failure, after all were tried.
 */
export async function settleOverdueCalls(
  tools: OverdueTools,
): Promise<Readonly<Partial<Record<OverdueEnd, number>>>> {
  const { overdueCallMs, overdueAgainMs } = tools.timings;
  const overdue = await tools.calls.overdue(overdueCallMs, overdueAgainMs, limit);
  const ends = await Promise.allSettled(overdue.map((one) => settleOne(tools, one)));
  const failed = ends.find((end) => end.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  const sums: Partial<Record<OverdueEnd, number>> = {};
  for (const end of ends) if (end.status === 'fulfilled') sums[end.value] = (sums[end.value] ?? 0) + 1;
  return sums;
}

async function settleOne(tools: OverdueTools, overdue: OverdueCall): Promise<OverdueEnd> {
  const work = await workOf(tools, overdue);
  if (work === null) return settleUnjudged(tools, overdue);
  if (!isIdText(work.call)) return endTransfer(tools, overdue.rollout, work);
  const word = await askJournal(tools, overdue.rollout, work.call);
  const end = await act(tools, overdue, work, word);
  const { key, call } = work;
  tools.log.warn('nobody had settled a call by its deadline', { rollout: key, call, found: word.kind, end });
  return end;
}

/** Null where its environment is known to nobody any more. */
async function workOf(
  { environments }: OverdueTools,
  { rollout, summary, digest, setup }: OverdueCall,
): Promise<Tracked | null> {
  const environment = await environments.load(rollout.version);
  if (environment === null) return null;
  const claim = repeatedClaim(rollout, environment, null);
  const known = { key: rollout.key, claim, environment, known: true, keyId: null };
  return trackedCall(known, summary.call, summary.tool, digest, setup);
}

/** Its lease ends with its rollout's taint, so this is hardly ever waited for. */
const idleMs = 15 * 60_000;

/** Whatever its sandbox would say, nobody knows any more which of its tool's exit codes are the model's. */
async function settleUnjudged({ calls, log }: OverdueTools, overdue: OverdueCall): Promise<OverdueEnd> {
  const { rollout, summary, digest } = overdue;
  const detail = `its environment's version ${rollout.version} is known to nobody any more`;
  const { call, tool } = summary;
  const unjudged = { key: rollout.key, call, tool, digest, environment: { limits: { idleMs } } };
  await calls.settle(settlementOfUnknown(unjudged, { tries: 0, detail }));
  log.warn('nobody can judge a call that is overdue', { rollout: rollout.key, call, detail });
  return 'settled';
}

/** The journal has no transfers, and whoever sent or read one is gone with its connection. */
async function endTransfer(
  tools: OverdueTools,
  { epoch }: RolloutRecord,
  work: Tracked,
): Promise<OverdueEnd> {
  const end = { how: 'broken_off', admitted: 'unknown' } as const;
  await settleTransfer(tools, work, { ...end, ranIn: epoch?.sandbox ?? null });
  return 'settled';
}

async function act(
  tools: OverdueTools,
  overdue: OverdueCall,
  work: Tracked,
  word: JournalWord,
): Promise<OverdueEnd> {
  const { rollout } = overdue;
  switch (word.kind) {
    case 'running':
      return 'left';
    case 'absent':
      return (await tools.calls.withdraw(overdue, work.counted)) ? 'withdrawn' : 'left';
    case 'lost': {
      const { sandbox, boot } = targetOf(rollout);
      await tools.lifecycle.lose(sandbox, boot, word.cause, { seen_by: 'controller', ...word.evidence });
      return 'lost';
    }
    case 'confirmed':
      return settleAs(tools, overdue, work, { settlement: settlementOfForgotten(work), result: null });
    case 'silent': {
      const settlement = settlementOfUnknown(work, word);
      return settleAs(tools, overdue, work, { settlement, result: null });
    }
    case 'answered': {
      const heard = await heedOverdue(tools, rollout, work, word.answer);
      return heard === 'running' ? 'left' : settleAnswered(tools, overdue, work, heard);
    }
  }
}

/** Redis has forgotten that it was settled with an answer. That is not judged again: probes could not say now what they said then. */
const settledWord = { kind: 'good' } as const;

type Heard = Pick<Extract<Heeded, { kind: 'answered' }>, 'answer' | 'backend' | 'runs'>;

/**
 * As `heedDependency`, for a call that ended long ago: probes have said by now what they will, and a second run is heard
 * if its gateway had begun one. A controller begins none: it does not know the arguments.
 */
async function heedOverdue(
  tools: OverdueTools,
  rollout: RolloutRecord,
  work: Tracked,
  first: CallAnswer,
): Promise<Heard | 'running'> {
  const { call, dependency } = work;
  const once = { answer: first, backend: null, runs: [call] };
  const isSettled = first.settled === true && hasIdsApart(rollout);
  if (dependency === null || !reportsFailure(dependency, first)) return once;
  const backend = isSettled
    ? settledWord
    : await askProbes(tools, work, { dependency, answer: first }, 'now');
  if (backend.kind !== 'good' || !dependency.idempotent) return { ...once, backend };
  const second = await askJournal(tools, rollout, secondRunOf(call));
  if (second.kind === 'running') return 'running';
  if (second.kind !== 'answered') return { ...once, backend };
  const { answer } = second;
  const runs = [call, secondRunOf(call)];
  return { answer, backend: reportsFailure(dependency, answer) ? backend : null, runs };
}

async function settleAnswered(
  tools: OverdueTools,
  overdue: OverdueCall,
  work: Tracked,
  { answer, backend, runs }: Heard,
): Promise<OverdueEnd> {
  const judged = judgeAnswer({ work, rollout: overdue.rollout }, answer, backend);
  const end = await settleAs(tools, overdue, work, judged);
  if (judged.result !== null) tools.link.settled(targetOf(overdue.rollout), runs);
  return end;
}

async function settleAs(
  tools: OverdueTools,
  { rollout }: OverdueCall,
  work: Tracked,
  judged: Parameters<typeof settle>[2],
): Promise<OverdueEnd> {
  await settle(tools, work, judged, 0, rollout);
  return 'settled';
}

/** What a sandbox's journal says of a call. `silent`: nobody answered in time. */
type JournalWord =
  | { readonly kind: 'answered'; readonly answer: CallAnswer }
  | { readonly kind: 'running' | 'absent' | 'confirmed' }
  | {
      readonly kind: 'lost';
      readonly cause: LossCause;
      readonly evidence: Evidence;
    }
  | { readonly kind: 'silent'; readonly tries: number; readonly detail: string };

type AskJournalTools = RetryDeps & { readonly link: Pick<SandboxLink, 'attach'> };

/** It only looks; a daemon on a busy machine takes longer than its millisecond. */
const answerMs = 3_000;

/**
 * Asks without waiting for the call. Throws `unclassified` when sandboxd breaks the protocol, and
 * `sandboxd_unreachable` when it refuses us: that says nothing of the call.
 */
async function askJournal(
  tools: AskJournalTools,
  rollout: RolloutRecord,
  call: CallId,
): Promise<JournalWord> {
  const tries = noneFailed();
  try {
    const ask = () => askJournalOnce(tools, rollout, call);
    return await retrying(tools, retryPolicies.overdueCall, ask, { tries });
  } catch (thrown) {
    if (!(thrown instanceof LinkError)) throw thrown;
    return { kind: 'silent', tries: tries.failed, detail: thrown.message };
  }
}

async function askJournalOnce(
  { link }: AskJournalTools,
  rollout: RolloutRecord,
  call: CallId,
): Promise<JournalWord> {
  try {
    const inTime = AbortSignal.timeout(answerMs);
    const answer = undisturbed(await link.attach(targetOf(rollout), call, 0, inTime));
    return answer === 'running' ? { kind: 'running' } : { kind: 'answered', answer };
  } catch (thrown) {
    if (!(thrown instanceof LinkError)) throw thrown;
    const word = wordIn(thrown, rollout);
    if (word === null) throw new NotYet(thrown);
    return word;
  }
}

/** Null: nothing was said; another try may hear something. */
function wordIn(error: LinkError, rollout: RolloutRecord): JournalWord | null {
  if (wasConfirmed(error)) return { kind: 'confirmed' };
  if (error.trouble.kind === 'refused' && error.trouble.code === 'unauthorized')
    throw sandboxdUnreachable(`the sandbox refuses us: ${error.message}`);
  const step = believedStep(error.trouble, rollout, 'looked for');
  switch (step.kind) {
    case 'again':
      return null;
    case 'absent':
      return { kind: 'absent' };
    case 'lose':
      return { kind: 'lost', cause: step.cause, evidence: { detail: error.message, ...step.evidence } };
    case 'conflict':
      throw new Failure('unclassified', 'sandboxd names a conflict where nothing was sent');
    case 'fail':
      throw new Failure('unclassified', step.reason, { admitted: 'unknown' });
  }
}
