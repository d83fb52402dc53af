import type { Dependency } from '../model/dependency.ts';
import type { CallId } from '../model/ids.ts';
import type { Timings } from '../model/timings.ts';
import type { CallStore } from '../ports/fleet/calls.ts';
import type { DependencyStore } from '../ports/fleet/dependencies.ts';
import type { CallAnswer } from '../protocol/sandboxd/wire.ts';
import { Deadline } from '../waiting/deadline.ts';
import { type RetryDeps, retrying } from '../waiting/retries.ts';
import { retryPolicies } from '../waiting/retry-policies.ts';
import { asFailure } from '../failure/failure.ts';
import { exchange, type ExchangeDeps, type Exchanged } from './exchange.ts';
import { type BackendWord, type CallTimes, judgeDependency, recentMs } from './judge-dependency.ts';
import { isLate, reportsFailure } from './judge-call.ts';
import { type Running, secondRunOf, type Tracked } from './work.ts';

export type HeedDeps = ExchangeDeps & AskProbesDeps & { readonly timings: Pick<Timings, 'settleGraceMs'> };

/** A call's end, and what probes say of its backend; null: nothing depends on that. */
export type Heeded =
  | Exclude<Exchanged, { kind: 'answered' }>
  | {
      readonly kind: 'answered';
      readonly answer: CallAnswer;
      readonly backend: BackendWord | null;
      /** The ids of its runs, whose answers the sandbox keeps until it hears that this one is stored. */
      readonly runs: readonly CallId[];
    };

/**
 * An answer that reports a failed backend waits until probes have decided whether to believe it. If all were good and the tool is
 * idempotent, the call runs once more in the same sandbox, in case the failure fell between two probes: what comes of that is final.
 */
export async function heedDependency(deps: HeedDeps, running: Running, first: CallAnswer): Promise<Heeded> {
  const { call, dependency } = running.work;
  const backend = await wordOnAnswer(deps, running.work, first);
  const once: Heeded = { kind: 'answered', answer: first, backend, runs: [call] };
  if (backend?.kind !== 'good' || dependency?.idempotent !== true) return once;
  const second = await runAgain(deps, running);
  if (second === null || (second.kind === 'answered' && isLate(second.answer))) return once;
  if (second.kind !== 'answered') return second;
  return {
    kind: 'answered',
    answer: withEarlierBackground(first, second.answer),
    backend: await wordOnAnswer(deps, running.work, second.answer),
    runs: [call, secondRunOf(call)],
  };
}

/** Null: the answer reports no failure of a backend that is probed. */
async function wordOnAnswer(
  deps: AskProbesDeps,
  work: Tracked,
  answer: CallAnswer,
): Promise<BackendWord | null> {
  if (work.dependency === null || !reportsFailure(work.dependency, answer)) return null;
  return askProbes(deps, work, { dependency: work.dependency, answer }, 'wait');
}

/**
 * Runs it under an id that no caller can use, so that the sandbox's journal runs it at most once more, whichever gateway asks. Null:
 * it cannot run again. A call that surely did not run twice has still run once, so nobody may take it back.
 */
async function runAgain(deps: HeedDeps, running: Running): Promise<Exchanged | null> {
  const deadline = Deadline.in(deps.clock, running.timeoutMs + deps.timings.settleGraceMs);
  try {
    const second = await exchange(deps, { ...running, ask: running.askAgain }, deadline);
    if (second.kind === 'calls_used_up') return null;
    return second.kind === 'unsent' ? { ...second, kind: 'unknown' } : second;
  } catch (thrown) {
    // Only a gateway that has the call's arguments can start it again; none of them did.
    if (asFailure(thrown).code === 'unknown_call') return null;
    throw thrown;
  }
}

/** Its background worked before the first run, too, and graders charge for that. */
function withEarlierBackground(first: CallAnswer, second: CallAnswer): CallAnswer {
  const earlierMs = first.evidence.backgroundMs ?? 0;
  if (earlierMs === 0) return second;
  const backgroundMs = earlierMs + (second.evidence.backgroundMs ?? 0);
  return { ...second, evidence: { ...second.evidence, backgroundMs } };
}

export type AskProbesDeps = RetryDeps & {
  readonly dependencies: Pick<DependencyStore, 'read'>;
  readonly calls: Pick<CallStore, 'lookup'>;
};

/** How often somebody who waits for the result of a probe looks for it. */
const lookAgainMs = 500;

/** An answer that has just arrived, of a tool with this dependency. */
type Reported = { readonly dependency: Dependency; readonly answer: CallAnswer };

/**
 * What probes say of a call that has just ended: Redis' clock says when that is. `now`: the call ended long ago, so what
 * is known by now is all that will be.
 */
export async function askProbes(
  deps: AskProbesDeps,
  work: Pick<Tracked, 'key' | 'call'>,
  { dependency, answer: { evidence } }: Reported,
  patience: 'wait' | 'now',
): Promise<BackendWord> {
  const answeredMs = deps.clock.monotonicMs();
  const sentAtMs = await sentAt(deps, work);
  const sinceMs = sentAtMs === null ? 0 : sentAtMs - recentMs(dependency);
  let times: CallTimes | null = null;
  for (;;) {
    const read = () => deps.dependencies.read(dependency, work.key, sinceMs);
    const record = await retrying(deps, retryPolicies.storedAnswer, read);
    const answeredAtMs = record.nowMs - (deps.clock.monotonicMs() - answeredMs);
    times ??= { startedAtMs: startedAt(sentAtMs, answeredAtMs, evidence), endedAtMs: record.nowMs };
    const word = judgeDependency(dependency, times, record, patience === 'wait');
    if (word.kind !== 'wait') return word;
    await deps.clock.sleep(Math.min(word.forMs, lookAgainMs));
  }
}

/** Null: Redis has forgotten the call; a recovery has written it back as one that surely ran. */
async function sentAt(
  deps: AskProbesDeps,
  { key, call }: Pick<Tracked, 'key' | 'call'>,
): Promise<number | null> {
  const recorded = await retrying(deps, retryPolicies.storedAnswer, () => deps.calls.lookup(key, call));
  const isWrittenBack = recorded?.summary.state === 'dispatched' && recorded.summary.admitted === 'yes';
  return recorded === null || isWrittenBack ? null : recorded.summary.startedAtMs;
}

/**
 * When the command started, on Redis' clock. A call may be on its way to its sandbox for a minute, or wait there for others, and a probe that
 * failed meanwhile says nothing of it. It cannot have started before it was sent, whatever the sandbox says.
 */
export function startedAt(
  sentAtMs: number | null,
  answeredAtMs: number,
  { endedAgoMs, durationMs }: CallAnswer['evidence'],
): number | null {
  if (sentAtMs === null || endedAgoMs === undefined) return sentAtMs;
  return Math.max(sentAtMs, answeredAtMs - endedAgoMs - durationMs);
}
