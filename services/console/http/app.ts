import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import {
  fastify,
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type RawReplyDefaultExpression,
  type RawRequestDefaultExpression,
  type RawServerDefault,
} from 'fastify';
import { asFailure, Failure } from '#src/failure/failure.ts';
import { failureToHttp } from '#src/failure/http.ts';
import { errorFields } from '#src/platform/logging.ts';
import type { Log } from '#src/ports/log.ts';
import { GatewayRefusal } from '../gateway.ts';

export type App = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

/** Only a log-in has a body. */
const largestBody = 4 * 1024;

/**
 * No page loads, runs or frames anything from elsewhere, and none can make a script of text: what a policy wrote stays text also if
 * the page has a mistake.
 */
const contentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

export const safeHeaders = {
  'content-security-policy': contentPolicy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
} as const;

/** An application without routes; every error leaves it in the shape of the fleet's own. */
export function createApp(log: Log): App {
  const app = fastify({
    logger: false,
    trustProxy: false,
    bodyLimit: largestBody,
    routerOptions: { maxParamLength: 4096 },
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false } },
  }).withTypeProvider<TypeBoxTypeProvider>();
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  app.setErrorHandler((thrown, _request, reply) => sendError(thrown, reply, log));
  app.setNotFoundHandler((_request, reply) =>
    sendError(new Failure('invalid_request', 'there is no such page'), reply.code(404), log),
  );
  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers(safeHeaders).header('cache-control', 'no-store');
    done();
  });
  return app;
}

/** Too many log-ins of one address that were refused. */
export class TooManyTries extends Error {}

function sendError(thrown: unknown, reply: FastifyReply, log: Log): FastifyReply {
  if (thrown instanceof GatewayRefusal) return reply.code(thrown.status).send(thrown.body);
  if (thrown instanceof TooManyTries)
    return reply.code(429).send(failureToHttp('native', new Failure('unauthorized', thrown.message)).body);
  const failure = failureOf(thrown);
  if (failure.code === 'unclassified') log.error('request failed', errorFields(thrown));
  const { status, headers, body } = failureToHttp('native', failure);
  if (reply.statusCode < 400) reply.code(status);
  return reply.headers(headers).send(body);
}

/** What the framework throws about a request is the caller's mistake. */
function failureOf(thrown: unknown): Failure {
  const isBadRequest = thrown instanceof Error && 'statusCode' in thrown && thrown.statusCode === 400;
  return isBadRequest ? new Failure('invalid_request', thrown.message) : asFailure(thrown);
}

export const pathOf = ({ raw }: FastifyRequest): string => (raw.url ?? '/').split('?', 1)[0] ?? '/';
