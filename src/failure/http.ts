import type { Face } from '../model/face.ts';
import type { CallId, RolloutId } from '../model/ids.ts';
import { failureRow } from './codes.ts';
import type { Failure } from './failure.ts';

export type FailureContext = {
  readonly rollout?: RolloutId;
  readonly call?: CallId;
  readonly tainted?: boolean;
};

/** Seconds a caller is asked to wait where nothing better is known: one refill of a warm pool. */
const defaultRetryAfterS = 5;

/** The only place where a failure becomes HTTP: status, headers and the error body of every face. */
export function failureToHttp(face: Face, failure: Failure, context: FailureContext = {}) {
  const status = failureRow(failure.code)[face];
  const error = errorBody(failure, context);
  const body = face === 'e2b' ? { code: status, message: saidByE2b(failure, status), error } : { error };
  return { status, headers: retryAfter(failure, status), body };
}

/** By these words E2B's clients know a sandbox that is gone: what else they are told of it stands behind them. */
const goneWords = 'The sandbox was not found';

/** What a client of E2B reads of a failure. */
export function saidByE2b({ code, message }: Failure, status: number): string {
  return status === 502 ? `${goneWords}: ${message} (${code})` : `${message} (${code})`;
}

function errorBody(failure: Failure, context: FailureContext) {
  return {
    code: failure.code,
    blame: failure.blame,
    message: failure.message,
    rollout_id: context.rollout ?? null,
    ...(context.call === undefined ? {} : { call_id: context.call }),
    admitted: failure.admitted,
    retryable: failure.retry !== 'no',
    tainted: context.tainted ?? failure.taints,
    evidence: failure.evidence,
  };
}

function retryAfter(failure: Failure, status: number): Record<string, string> {
  if (status !== 503 || failure.retry === 'no') return {};
  const seconds =
    failure.retryAfterMs === undefined ? defaultRetryAfterS : Math.ceil(failure.retryAfterMs / 1000);
  return { 'retry-after': String(seconds) };
}
