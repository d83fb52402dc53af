import { Failure } from '../failure/failure.ts';
import type { Clock } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';
import { Deadline } from './deadline.ts';
import type { Pauses, RetryPolicy } from './retry-policies.ts';

/**
 * The one loop that tries again; what it may try, and how often, is a row of `retry-policies.ts`. A try says by what it
 * throws whether another may help: its row knows which failures pass, {@link NotYet} says so itself, and after
 * {@link GivenUp} nobody who stands around begins again.
 */

export type RetryDeps = { readonly clock: Clock; readonly random: Random };

/** Thrown by a try that is to be made again, whatever its row says of `failure`, which is what leaves when time is up. */
export class NotYet extends Error {
  readonly failure: unknown;
  /** How long to pause, where that is known; null: as the row says. */
  readonly afterMs: number | null;

  constructor(failure: unknown, afterMs: number | null = null) {
    super('to be tried again', { cause: failure });
    this.failure = failure;
    this.afterMs = afterMs;
  }
}

/** A failure of what was tried as often as may be: a request around it that began again would use up as much again. */
export class GivenUp extends Failure {
  constructor({ code, message, evidence, admitted, retryAfterMs, retry, cause }: Failure) {
    const when = retryAfterMs === undefined ? {} : { retryAfterMs };
    super(code, message, { evidence, admitted, cause, ...when, ...(retry === 'no' ? { retry } : {}) });
  }
}

/** How many tries have failed that another may fix; handed on where several waits of one request share the number. */
export type Tries = { failed: number };

export const noneFailed = (): Tries => ({ failed: 0 });

export type RetryLimits = {
  /** Beside the row's own time: how long whoever asks has. */
  readonly until?: Pick<Deadline, 'remainingMs'>;
  /** Ends a pause, and makes the try after it the last: what was waited for has happened, or nobody waits any more. */
  readonly hurry?: AbortSignal;
  readonly tries?: Tries;
  /** Hears of each failure that is tried again. */
  readonly onAgain?: (thrown: unknown) => void;
};

/** One try; `within` is what is left of the row’s own time. */
export type Attempt<Result> = (within: Deadline) => Promise<Result>;

/** Makes tries until one succeeds or the row allows none any more; then throws what the last one threw. */
export async function retrying<Result>(
  { clock, random }: RetryDeps,
  policy: RetryPolicy,
  attempt: Attempt<Result>,
  { until, hurry, tries = noneFailed(), onAgain }: RetryLimits = {},
): Promise<Result> {
  const within = Deadline.in(clock, policy.withinMs);
  for (;;) {
    try {
      return await attempt(within);
    } catch (thrown) {
      const mayHelp = helps(policy, thrown);
      if (mayHelp) tries.failed += 1;
      const remainingMs = Math.min(within.remainingMs, until?.remainingMs ?? Number.POSITIVE_INFINITY);
      const tried = { thrown, failed: tries.failed, remainingMs };
      const pauseMs = mayHelp && hurry?.aborted !== true ? pauseAfter(policy, tried, random) : null;
      if (pauseMs === null) throw lastFailure(policy, tried);
      onAgain?.(thrown);
      await clock.sleep(pauseMs, hurry);
    }
  }
}

/** What leaves after the last try: where there were as many as may be, for good. */
function lastFailure({ mostTries }: RetryPolicy, { thrown, failed }: Tried): unknown {
  const failure = thrown instanceof NotYet ? thrown.failure : thrown;
  return failed >= mostTries && failure instanceof Failure ? new GivenUp(failure) : failure;
}

export type Tried = {
  readonly thrown: unknown;
  /** Tries that have failed, this one included. */
  readonly failed: number;
  readonly remainingMs: number;
};

/** Whether another try may fix it. */
export function helps(policy: RetryPolicy, thrown: unknown): boolean {
  return thrown instanceof NotYet || (policy.again(thrown) && !(thrown instanceof GivenUp));
}

/** How long to pause before the next try; null: there is none. No try begins without time left. */
export function pauseAfter(
  policy: RetryPolicy,
  { thrown, failed, remainingMs }: Tried,
  random: Random,
): number | null {
  if (failed >= policy.mostTries) return null;
  const asked = thrown instanceof NotYet ? thrown.afterMs : null;
  const pauseMs = asked ?? jittered(longestPauseMs(policy.pauses, failed), random);
  return remainingMs > pauseMs ? pauseMs : null;
}

/** The pause after so many failed tries, before chance shortens it. */
export function longestPauseMs({ firstMs, factor, longestMs }: Pauses, failed: number): number {
  return Math.min(longestMs, firstMs * factor ** (failed - 1));
}

/** Between half of its length and the whole: who failed together does not return together. */
export function jittered(pauseMs: number, random: Random): number {
  return pauseMs * (0.5 + random.next() / 2);
}
