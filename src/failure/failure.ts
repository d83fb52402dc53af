import type { Admitted } from '../model/outcome.ts';
import { type Blame, type FailureCode, failureRow, type Retry } from './codes.ts';

/** What was seen, in flat and printable values; shown to operators and trainers, never to the model. */
export type Evidence = Readonly<Record<string, string | number | boolean | null>>;

export type FailureOptions = {
  readonly evidence?: Evidence;
  readonly admitted?: Admitted;
  readonly retryAfterMs?: number;
  /** Only where more is known than the code says: this failure repeats until a person fixes its cause. */
  readonly retry?: 'no';
  readonly cause?: unknown;
};

/** The one error class. Thrown where a failure is understood; turned into HTTP only by `failure/http.ts`. */
export class Failure extends Error {
  readonly code: FailureCode;
  readonly evidence: Evidence;
  readonly admitted: Admitted;
  readonly retryAfterMs: number | undefined;
  /** May the same request be sent again: as its code says, unless it was created with `retry: 'no'`. */
  readonly retry: Retry;

  constructor(code: FailureCode, message: string, options: FailureOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'Failure';
    this.code = code;
    this.evidence = options.evidence ?? {};
    this.admitted = options.admitted ?? 'no';
    this.retryAfterMs = options.retryAfterMs;
    this.retry = options.retry ?? failureRow(code).retry;
  }

  get blame(): Blame {
    return failureRow(this.code).blame;
  }

  get taints(): boolean {
    return failureRow(this.code).taints;
  }
}

/** What bars a rollout for good: fleet state has discarded it, or it has ended. */
export class Barred extends Failure {
  constructor(code: FailureCode, message: string, options: FailureOptions = {}) {
    super(code, message, { ...options, retry: 'no' });
  }
}

/**
 * `sandboxd_unreachable`: nothing came of asking a sandbox, and that decides nothing. Given
 *   where it would not take its rollout          `sandboxRefused` in claiming/prepare-sandbox.ts
 *   where it was swapped as a call was to be sent `admitOrObtain` in calls/admission.ts
 *   where a call never left, or nobody can say    `takeBack` in calls/run-call.ts
 *   where it refuses whoever settles late calls   `wordIn` in calls/settle-overdue.ts
 *   where a file or an output broke off           `failed` in calls/transfer.ts, `outputOf` in calls/attach.ts
 *   where a running call cannot be stopped        `stopCall` in calls/cancel.ts
 *   where it cannot keep a stdin open             `requireStdin` in calls/admission.ts
 *   where it is silent as its rollout is graded   `checkStillThere`, `whileItStands`, `swapped` in grading/still-there.ts
 *   where a grader's own is given up for another  `anotherInstead` in grading/grade-elsewhere.ts
 */
export const sandboxdUnreachable = (message: string, options: FailureOptions = {}): Failure =>
  new Failure('sandboxd_unreachable', message, options);

/** A thrown value as a Failure. An unclassified error is an infrastructure failure, never the model's. */
export function asFailure(thrown: unknown): Failure {
  if (thrown instanceof Failure) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new Failure('unclassified', `unclassified error: ${message}`, {
    admitted: 'unknown',
    cause: thrown,
    evidence: { error: thrown instanceof Error ? thrown.name : typeof thrown, message },
  });
}
