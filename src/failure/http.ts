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
  const row = failureRow(failure.code);
  const status = face === 'rft' ? row.rft : row.native;
  return { status, headers: retryAfter(failure, status), body: { error: errorBody(failure, context) } };
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
