import { asFailure, Failure } from '#src/failure/failure.ts';

/** What Fastify's own errors carry. */
type HttpError = Error & {
  readonly statusCode?: unknown;
  readonly code?: unknown;
  readonly validation?: unknown;
};

const nextStep = 'correct the request; docs/trainers.md and /openapi.json show its shape';

/** Whatever a route, a hook or the framework threw, in the words of the failure table. */
export function failureOf(thrown: unknown): Failure {
  if (thrown instanceof Failure || !(thrown instanceof Error)) return asFailure(thrown);
  const { statusCode, code, validation, message }: HttpError = thrown;
  if (validation !== undefined) return invalid(message, thrown);
  if (statusCode === 413) return new Failure('payload_too_large', message, { cause: thrown });
  // Only the framework's own errors are trusted about whose fault it was.
  const byFramework = typeof code === 'string' && code.startsWith('FST_');
  const byCaller = typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500;
  return byFramework && byCaller ? invalid(message, thrown) : asFailure(thrown);
}

/** A request that nothing here can make sense of. */
export function invalid(reason: string, cause?: unknown): Failure {
  return new Failure('invalid_request', `${reason}; ${nextStep}`, { cause });
}
