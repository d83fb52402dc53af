import type { CallSummary } from '../ports/fleet/records.ts';
import type { CallAnswer } from '../protocol/sandboxd/wire.ts';
import { modelFailureCodes } from '../model/outcome.ts';
import { brokenResult, isLate, refusedResult, type Result, resultOf, withoutRun } from './judge-call.ts';
import type { Running, StoredResult, Tracked } from './work.ts';

/**
 * The answer to a repeat of a settled call, in the words of the first one. Fleet state has the outcome, and the sandbox what was
 * printed. The call is not judged again: its rollout, or what probes say, may have changed since.
 */
export function wordedAgain(
  running: Pick<Running, 'work' | 'rollout'>,
  summary: CallSummary,
  answer: CallAnswer,
): StoredResult {
  const { waitedMs } = summary;
  if (isLate(answer)) return { ...refusedResult(running.work, 'time_spent'), waitedMs };
  return { ...resultOf(running, answer), ...recordedEnd(summary), waitedMs };
}

/** Of a call that recovery has written back only its sandbox knows the end. */
function recordedEnd({ outcome, code, exitCode, durationMs }: CallSummary): Partial<Result> {
  if (durationMs === null || outcome === null || outcome === 'infrastructure_failure') return {};
  return { outcome, code, timedOut: outcome === 'timed_out', ...(exitCode !== null && { exitCode }) };
}

type Known = { readonly reason: string; readonly text: string | null };

/** The answer to a repeat of a call that ran nothing. `reason`: why the sandbox is broken, if it is. `text`: what a refusal said. */
export function refusedAgain(work: Tracked, summary: CallSummary, known: Known): StoredResult {
  return { ...withoutItsRun(work, summary, known), waitedMs: summary.waitedMs };
}

function withoutItsRun(work: Tracked, { outcome, code }: CallSummary, { reason, text }: Known): Result {
  if (code === 'sandbox_broken') return brokenResult(work, reason);
  const known = modelFailureCodes.find((one) => one === code);
  if (outcome === 'cancelled' || known === undefined)
    return withoutRun(work, 'cancelled', null, work.environment.texts.cancelled);
  const isWrong = known === 'bad_arguments' || known === 'unknown_tool';
  return refusedResult(work, known, text ?? (isWrong ? `Error: ${known}` : undefined));
}

/** The answer to a repeat of a call whose output went down with the sandbox that its policy broke. */
export function outputGone(work: Tracked, summary: CallSummary): StoredResult {
  const { outcome, code, exitCode, durationMs, waitedMs } = summary;
  const known = outcome === null || outcome === 'infrastructure_failure' ? 'completed' : outcome;
  const result = withoutRun(work, known, code, goneText(exitCode));
  return { ...result, exitCode, durationMs: durationMs ?? 0, timedOut: known === 'timed_out', waitedMs };
}

const goneText = (exitCode: number | null): string =>
  `[this command has ended${exitCode === null ? '' : ` with exit code ${exitCode}`}; its output is gone]`;
