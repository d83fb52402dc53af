import { asFailure, type Failure } from '../failure/failure.ts';
import type { FailureCode } from '../failure/codes.ts';
import type { Clock } from '../ports/clock.ts';
import type { Deadline } from './deadline.ts';

/**
 * Pauses between tries: quick at first, because most troubles are over in milliseconds, then once a second, which is
 * what a fleet of waiting requests can ask of a Redis that is coming back.
 */
const firstPauseMs = 20;
const longestPauseMs = 1_000;

export function pauseMs(attempt: number): number {
  return Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(attempt, 10));
}

/**
 * Tries a step again while its failure says that a repeat may help and the deadline has not passed; three quick
 * refusals would lose the rollout, so we hold instead. Final failures leave at once.
 */
export async function patiently<Result>(
  clock: Clock,
  deadline: Deadline,
  step: () => Promise<Result>,
): Promise<Result> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await step();
    } catch (thrown) {
      const failure = asFailure(thrown);
      if (!worthAnotherTry(failure) || deadline.remainingMs <= pauseMs(attempt)) throw failure;
    }
    await clock.sleep(pauseMs(attempt));
  }
}

/**
 * Codes that a repeat by the trainer may mend and a repeat in here does not: time that is up, a gateway that must not
 * hold more, rows that would only be sent to a full share of Redis once a second, a setup that has already failed in
 * several sandboxes, and starts that failed for as long as there was time to wait in line.
 */
const leavesAtOnce: ReadonlySet<FailureCode> = new Set([
  'still_running',
  'capacity_timeout',
  'gateway_overloaded',
  'rows_full',
  'shutting_down',
  'setup_failed',
  'image_unavailable',
  'unschedulable',
  'start_failed',
  'start_timeout',
  'grader_failed',
]);

function worthAnotherTry(failure: Failure): boolean {
  return failure.retry !== 'no' && !leavesAtOnce.has(failure.code);
}
