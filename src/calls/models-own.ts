import type { ModelFailure } from '../model/outcome.ts';
import type { Settlement } from '../ports/fleet/calls.ts';
import { fillText } from '../tools/fill-text.ts';
import { type Result, settlementOf } from './judge-call.ts';
import type { Tracked } from './work.ts';

/**
 * The answers to calls that came to nothing by the model's own doing: refused, or its sandbox broken by what it ran. They are
 * answers like every other, in the environment's words, so that the model learns by them and nothing is discarded for them.
 */

/** The answer to a call that was refused for the model's own doing; `text` is what the model reads. */
export function refusedResult(work: Tracked, code: ModelFailure, text?: string): Result {
  return withoutRun(work, 'refused', code, text ?? limitText(work, code));
}

/** The answer to every call after the policy broke its own sandbox. */
export function brokenResult(work: Tracked, reason: string): Result {
  const text = fillText(work.environment.texts.sandboxBroken, { reason });
  return withoutRun(work, 'completed', 'sandbox_broken', text);
}

/** The answer to a call that ran when the sandbox went down; what it had printed went with it. */
export function brokenWhileRunning(work: Tracked, reason: string): Result {
  const text = fillText(work.environment.texts.brokeSandbox, { reason });
  return withoutRun(work, 'completed', 'sandbox_broken', text);
}

function limitText(work: Tracked, code: ModelFailure): string {
  const { texts, limits } = work.environment;
  if (code === 'too_many_at_once') return texts.tooManyAtOnce;
  if (code === 'budget_spent') return fillText(texts.budgetSpent, { limit: limits.toolCalls });
  return fillText(texts.timeSpent, { minutes: Math.round(limits.rolloutMs / 60_000) });
}

function withoutRun(work: Tracked, outcome: Result['outcome'], code: ModelFailure, output: string): Result {
  return {
    callId: work.call,
    outcome,
    code,
    exitCode: null,
    signal: null,
    output,
    stdout: '',
    stderr: '',
    truncated: { stdout: false, stderr: false, totalBytes: 0 },
    timedOut: false,
    outOfMemoryKilled: false,
    durationMs: 0,
    epoch: null,
  };
}

/** How such a call settles: with its result, and nothing of a run. */
export function refusedSettlement(work: Tracked, { outcome, code }: Result): Settlement {
  return settlementOf(work, { outcome, code, admitted: 'no', durationMs: 0 });
}
