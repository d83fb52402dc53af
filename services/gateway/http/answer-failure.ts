import type { FastifyReply, FastifyRequest } from 'fastify';
import { asFailure, Failure } from '#src/failure/failure.ts';
import { failureToHttp } from '#src/failure/http.ts';
import type { Face } from '#src/model/face.ts';
import type { FailedRequest } from '../core-interface.ts';
import { docsPage } from '#src/platform/docs.ts';

/** Hears of every request that was not answered with a result. */
export type FailureListener = (face: Face, failed: FailedRequest) => void;

/** The one error handler: every failure of every face leaves here. */
export function createFailureAnswer(onFailure: FailureListener) {
  const answer = (thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const face = faceOf(request.raw.url ?? '/');
    const failure = failureOf(thrown);
    onFailure(face, { failure, rollout: request.state?.rollout ?? null, call: request.state?.call ?? null });
    // A body that nobody reads any more would block the connection for the next request.
    request.raw.resume();
    return sendFailure(face, failure, request, reply);
  };
  const notFound = (request: FastifyRequest, reply: FastifyReply): FastifyReply =>
    answer(invalid(`there is no ${request.method} ${pathOf(request.raw.url)} here`), request, reply);
  return { answer, notFound };
}

function sendFailure(
  face: Face,
  failure: Failure,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const { rollout, call } = request.state ?? { rollout: null, call: null };
  const http = failureToHttp(face, failure, {
    ...(rollout === null ? {} : { rollout }),
    ...(call === null ? {} : { call }),
  });
  const running = face === 'native' && failure.code === 'still_running';
  const body = running
    ? { state: 'running', rollout_id: rollout, ...(call ? { call_id: call } : {}) }
    : http.body;
  return reply.code(http.status).headers(http.headers).type('application/json').send(JSON.stringify(body));
}

/** At most so much of a path is repeated to its sender. */
const shownPathLength = 200;

function pathOf(target = '/'): string {
  return (target.split('?', 1)[0] ?? '/').slice(0, shownPathLength);
}

/** What Fastify's own errors carry. */
type HttpError = Error & {
  readonly statusCode?: unknown;
  readonly code?: unknown;
  readonly validation?: unknown;
};

const nextStep = `correct the request; ${docsPage('trainers.md')} and /openapi.json show its shape`;

/** Whatever a route, a hook or the framework threw, in the words of the failure table. */
function failureOf(thrown: unknown): Failure {
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

/**
 * Which face a request target belongs to, however oddly it is written: full URLs, doubled slashes, capitals, escapes.
 * In doubt `rft`, whose answers are safe for everybody; the others leave no doubt, since only their own addresses have routes.
 */
export function faceOf(target: string): Face {
  const path = target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '').replaceAll(/%2f/gi, '/');
  const letters = path.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  if (/^[/.\\]*rft(?![a-z0-9_-])/i.test(letters)) return 'rft';
  return /^\/*e2b(?![a-z0-9_-])/i.test(letters) ? 'e2b' : 'native';
}
