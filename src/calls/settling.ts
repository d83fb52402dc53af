import { type RetryDeps, retrying } from '../waiting/retries.ts';
import { retryPolicies } from '../waiting/retry-policies.ts';
import { Barred, type Evidence, Failure } from '../failure/failure.ts';
import { refusal } from '../claiming/refusal.ts';
import type { FleetEvent, RolloutEvent } from '../ports/event-log.ts';
import type { CallStore, Repeated, Settlement, SettleReply } from '../ports/fleet/calls.ts';
import type { CallSummary, RolloutRecord } from '../ports/fleet/records.ts';
import { keepsCalls } from '../model/grader-leaves.ts';
import { type CallTexts, keepCallText } from './keep-call-text.ts';
import { keptOutput } from './kept-texts.ts';
import type { CallResult, Tracked } from './work.ts';
import { outputGone, refusedAgain } from './word-again.ts';
import { type Judged, brokenWhileRunning } from './judge-call.ts';
import { blameOf } from '../failure/codes.ts';

export type SettlingDeps = RetryDeps & {
  readonly calls: Pick<CallStore, 'settle' | 'lookup'>;
  readonly record: (event: FleetEvent) => void;
  /** Absent: call texts are not kept, as in a controller, which never has them. */
  readonly texts?: CallTexts;
};

/**
 * How the call ended is stored before its answer is sent. The first to store it also writes the event. What a taint ends with it, the verdict and the other
 * calls in flight, the store of the wiring writes down behind `settle`: `recordTaints` in lifecycle/record-ends.ts.
 */
export async function settle(
  deps: SettlingDeps,
  work: Tracked,
  judged: Judged,
  waitedMs: number,
  rollout: RolloutRecord | null = null,
): Promise<SettleReply> {
  const isAnswered = judged.result !== null;
  const ranIn = rollout?.epoch?.sandbox;
  const known = {
    waitedMs,
    isAnswered,
    keyId: work.keyId,
    ...(ranIn && { ranIn }),
    ...textsOf(work, judged),
  };
  const settlement: Settlement = { ...judged.settlement, ...known };
  const reply = await retrying(deps, retryPolicies.storedAnswer, () => deps.calls.settle(settlement));
  if (reply.first) {
    deps.record(settledEvent(work, reply.summary, { rollout, settlement, judged }, deps.clock.nowMs()));
    keepCallText(deps, work, settlement.output ?? null);
  }
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

/** What a settled call gives without its sandbox. Fleet state decides what that is, and this words it. */
export function answerFrom(work: Tracked, { summary, repeated }: Known, replayed = true): CallResult {
  switch (repeated.kind) {
    case 'broken': {
      const result = brokenWhileRunning(work, repeated.rollout.broken ?? unsaid);
      return { ...result, waitedMs: summary.waitedMs, replayed };
    }
    case 'ran_nothing':
      return {
        ...refusedAgain(work, summary, { reason: repeated.rollout.broken ?? unsaid, text: repeated.text }),
        replayed,
      };
    case 'output_gone':
      return { ...outputGone(work, summary), replayed };
    case 'barred':
      throw withoutOutcome(repeated, summary);
    case 'brought':
    case 'answer_expired':
      throw answerExpired(summary);
  }
}

type Known = Pick<SettleReply, 'summary'> & { readonly repeated: Exclude<Repeated, { kind: 'in_journal' }> };

/** The failure of a call that has no answer: what bars it, and where it ran. */
function withoutOutcome(
  { code, rollout }: Extract<Repeated, { kind: 'barred' }>,
  { call, sandbox, admitted }: CallSummary,
): Failure {
  const told = refusal(code, rollout, admitted);
  const evidence = { ...told.evidence, call, sandbox };
  return new Barred(told.code, told.message, { admitted, evidence });
}

/** It did run; whoever would do it again under another id must know that. */
export const answerExpired = ({ call, admitted }: CallSummary): Failure =>
  new Failure('answer_expired', `the answer of call ${call} is no longer kept`, { admitted });

/** The rollout's record outlives its calls, so this is hardly ever read. */
const unsaid = 'it used up what it had';

type Settled = {
  readonly rollout: RolloutRecord | null;
  readonly settlement: Settlement;
  readonly judged: Judged;
};

/** The one line that the event log keeps of a settled call. */
function settledEvent(
  work: Tracked,
  summary: CallSummary,
  { rollout, settlement, judged }: Settled,
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
    evidence: { ...answeredBy(settlement, rollout), ...settlement.taint?.evidence, ...markOf(judged) },
    ...(judged.backend && { backend: judged.backend.kind }),
  };
}

/** A tool that reports a failed backend which probes found good: the model's own answer, unless the failure fell between two probes. */
function markOf({ backend }: Judged): Evidence {
  return backend?.kind === 'good' ? { suspected: 'dependency' } : {};
}

/** An answer from any other life than the one the call went to is refused, so the boot after it is the boot before. */
function answeredBy({ durationMs }: Settlement, rollout: RolloutRecord | null): Evidence {
  const boot = rollout?.epoch?.boot ?? null;
  return durationMs === null || boot === null ? {} : { boot_after: boot };
}
