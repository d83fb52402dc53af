import type { FastifyReply, FastifyRequest } from 'fastify';
import { failureToHttp } from '#src/failure/http.ts';
import type { Failure } from '#src/failure/failure.ts';
import type { Face } from '#src/model/face.ts';
import type { FailedRequest } from '../core-interface.ts';
import { faceOf } from './face-of.ts';
import { failureOf, invalid } from './failure-of.ts';

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
