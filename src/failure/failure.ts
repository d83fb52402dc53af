import type { Admitted } from '../model/outcome.ts';
import { type Blame, type FailureCode, failureRow, type Retry } from './codes.ts';

/** What was seen, in flat and printable values; shown to operators and trainers, never to the model. */
export type Evidence = Readonly<Record<string, string | number | boolean | null>>;

export type FailureOptions = {
  readonly evidence?: Evidence;
  readonly admitted?: Admitted;
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
};

/** The one error class. Thrown where a failure is understood; turned into HTTP only by `failure/http.ts`. */
export class Failure extends Error {
  readonly code: FailureCode;
  readonly evidence: Evidence;
  readonly admitted: Admitted;
  readonly retryAfterMs: number | undefined;

  constructor(code: FailureCode, message: string, options: FailureOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'Failure';
    this.code = code;
    this.evidence = options.evidence ?? {};
    this.admitted = options.admitted ?? 'no';
    this.retryAfterMs = options.retryAfterMs;
  }

  get blame(): Blame {
    return failureRow(this.code).blame;
  }

  get retry(): Retry {
    return failureRow(this.code).retry;
  }

  get taints(): boolean {
    return failureRow(this.code).taints;
  }
}

/** Whatever was thrown, as a Failure: an error that nobody classified is the machinery's, never the model's. */
export function asFailure(thrown: unknown): Failure {
  if (thrown instanceof Failure) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new Failure('unclassified', `an error that nobody classified: ${message}`, {
    admitted: 'unknown',
    cause: thrown,
    evidence: { error: thrown instanceof Error ? thrown.name : typeof thrown, message },
  });
}
