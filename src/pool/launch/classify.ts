import { asFailure, type Evidence, Failure } from '#src/failure/failure.ts';
import { type FailureCode, failsEverywhere } from '#src/failure/codes.ts';
import { exitsAlike, failsToStartAlike } from '#src/failure/ends-alike.ts';
import { LinkError, type LinkTrouble } from '#src/ports/sandbox-link.ts';
import { DeadlinePassed } from './deadline.ts';
import type { StartProgress } from './start.ts';

export type LaunchFailure = {
  readonly code: FailureCode;
  readonly message: string;
  /**
   * Why another sandbox of the template would fail too, in words that are the same for each; null: another may well start.
   * Fleet state counts how many in a row have the same.
   */
  readonly reason: string | null;
  readonly evidence: Evidence;
};

/** Codes by which a provider says itself why a start failed, or must be made elsewhere. */
const providersOwn: ReadonlySet<FailureCode> = new Set([
  'image_unavailable',
  // The program that makes the template's data: what its author must fix, as with `prepare`.
  'setup_failed',
  'unschedulable',
  'start_failed',
  'start_timeout',
  'provider_unavailable',
]);

/** Why a start failed, from what was thrown and where it stood. What fits nothing is `start_failed`, with the error as evidence. */
export function classifyStart(thrown: unknown, progress: StartProgress): LaunchFailure {
  if (thrown instanceof DeadlinePassed) return tooLate(thrown, progress);
  if (thrown instanceof LinkError) return ofLink(thrown, progress);
  const failure = asFailure(thrown);
  const { message, evidence } = failure;
  const code = providersOwn.has(failure.code) ? failure.code : 'start_failed';
  const reason = evidence['failsEverywhere'] === failsEverywhere.failsEverywhere ? message : null;
  return { code, message, reason, evidence: { ...evidence, step: progress.step } };
}

// A provider that was away or full all the time, or never said that it will create, says nothing about the template, so the
// template's breaker must not count it.
function tooLate({ timeoutMs }: DeadlinePassed, { step, waitingOut }: StartProgress): LaunchFailure {
  const silent = step === 'create' ? 'provider_unavailable' : 'start_timeout';
  const last = waitingOut === null ? '' : ` (${waitingOut.message})`;
  return {
    code: waitingOut instanceof Failure ? waitingOut.code : silent,
    message: `the sandbox was not ready within ${timeoutMs} ms; it stood at ${step}${last}`,
    reason: null,
    evidence: { step, timeoutMs, waitingOut: waitingOut?.message ?? null },
  };
}

// The template's own commands failed: the environment's author must look, not the operator.
function ofLink(error: LinkError, { step }: StartProgress): LaunchFailure {
  const { trouble } = error;
  const itsOwn = step === 'prepare' && trouble.kind === 'refused' && trouble.code === 'prepare_failed';
  return {
    code: itsOwn ? 'setup_failed' : 'start_failed',
    message: itsOwn ? trouble.message : error.message,
    reason: itsOwn ? reasonOfPrepare(trouble) : null,
    evidence: { step, trouble: trouble.kind },
  };
}

/** By exit code and not by what the command printed, which may hold a time or a process id. */
function reasonOfPrepare({ exitCode, errno }: Extract<LinkTrouble, { kind: 'refused' }>): string | null {
  if (exitCode !== undefined) return exitsAlike(exitCode) ? `prepare: exit code ${exitCode}` : null;
  return errno !== undefined && failsToStartAlike(errno) ? `prepare: ${errno}` : null;
}
