import type { SandboxdError, SandboxdErrorBody } from '#src/protocol/sandboxd/wire.ts';

const statusOf = {
  invalid_request: 400,
  protocol_mismatch: 400,
  unauthorized: 401,
  unknown_call: 404,
  not_found: 404,
  bound_elsewhere: 409,
  not_bound: 409,
  already_bound: 409,
  call_conflict: 409,
  calls_used_up: 409,
  graded: 409,
  expired: 410,
  answer_confirmed: 410,
  other_boot: 412,
  payload_too_large: 413,
  other_sandbox: 421,
  file_error: 422,
  prepare_failed: 422,
  internal: 500,
  stream_busy: 503,
  journal_full: 503,
} as const satisfies Record<SandboxdError, number>;

/** Thrown where a request cannot be answered; the server turns it into status and body. */
export class WireError extends Error {
  readonly code: SandboxdError;
  readonly errno: string | undefined;
  readonly exitCode: number | undefined;

  constructor(code: SandboxdError, message: string, errno?: string, exitCode?: number) {
    super(message);
    this.name = 'WireError';
    this.code = code;
    this.errno = errno;
    this.exitCode = exitCode;
  }

  get status(): number {
    return statusOf[this.code];
  }

  toBody(): SandboxdErrorBody {
    const errno = this.errno === undefined ? {} : { errno: this.errno };
    const exitCode = this.exitCode === undefined ? {} : { exitCode: this.exitCode };
    return { error: { code: this.code, message: this.message, ...errno, ...exitCode } };
  }
}
