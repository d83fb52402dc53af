import { Failure } from '../failure/failure.ts';
import type { CallSummary, RolloutRecord } from '../ports/fleet/records.ts';
import { refusal } from '../claiming/refusal.ts';
import type { Settlement } from '../ports/fleet/calls.ts';
import type { Tracked } from './work.ts';

/** How a call settles when nobody could be asked, before its deadline, whether it ran: ours, final, never scored. */
export function settlementOfUnknown(
  work: Pick<Tracked, 'key' | 'call' | 'digest' | 'tool'> & {
    readonly environment: { readonly limits: Pick<Tracked['environment']['limits'], 'idleMs'> };
  },
  { tries, detail }: { readonly tries: number; readonly detail: string },
): Omit<Settlement, 'waitedMs'> {
  const evidence = { call: work.call, tries, admitted: 'unknown', detail };
  return {
    key: work.key,
    call: work.call,
    digest: work.digest,
    tool: work.tool,
    outcome: 'infrastructure_failure',
    code: 'outcome_unknown',
    admitted: 'unknown',
    exitCode: null,
    durationMs: null,
    outputBytes: 0,
    answer: null,
    taint: { code: 'outcome_unknown', evidence },
    broken: null,
    idleMs: work.environment.limits.idleMs,
  };
}

/**
 * How a call settles whose answer was given and whose bytes are gone: only answers are ever confirmed, so whatever it
 * was, it was the command's own end.
 */
export function settlementOfForgotten(work: Tracked): Omit<Settlement, 'waitedMs'> {
  return {
    key: work.key,
    call: work.call,
    digest: work.digest,
    tool: work.tool,
    outcome: 'completed',
    code: null,
    admitted: 'yes',
    exitCode: null,
    durationMs: null,
    outputBytes: 0,
    answer: null,
    taint: null,
    broken: null,
    idleMs: work.environment.limits.idleMs,
  };
}

/** What a caller is told of a call that settled as an infrastructure failure: the rollout's taint, as evidence. */
export function lossFailure(rollout: RolloutRecord | null, summary: CallSummary): Failure {
  const told = refusal(rollout?.taint?.code ?? 'sandbox_lost', rollout, summary.admitted);
  const evidence = { ...told.evidence, call: summary.call, sandbox: summary.sandbox };
  return new Failure(told.code, told.message, { admitted: summary.admitted, evidence });
}
