import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
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
import type { Grant } from '#src/access/keys.ts';
import type { RequestInHand } from '#src/lifecycle/requests-in-hand.ts';
import type { Timings } from '#src/model/timings.ts';
import type { CallId, RolloutId } from '#src/model/ids.ts';
import type { Written } from '#src/model/written.ts';
import { Failure } from '#src/failure/failure.ts';
import { failureToHttp } from '#src/failure/http.ts';
import { STATUS_CODES } from '#src/platform/node-http.ts';
import type { Answered } from '#src/ports/gateway-metrics.ts';
import type { Pass } from '../e2b/pass.ts';
import type { Hold, HoldGate } from './hold-gate.ts';
import { createFailureAnswer, faceOf, type FailureListener } from './answer-failure.ts';
import { onceWhole } from './read-body.ts';

/** A Fastify instance whose handlers have the types of their schemas. */
export type App = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

export type AppListeners = {
  readonly onFailure: FailureListener;
  readonly onAnswer: (answered: Answered) => void;
};

/** A held request is silent; a connection that is silent for longer than that is closed. */
const connectionSlackMs = 120_000;

/** Fastify's settings, each with its reason. Nothing here is left to a default that could answer 4xx under /rft. */
const serverOptions = {
  logger: false,
  /** No proxy's word about addresses is taken: the development key depends on the true one. */
  trustProxy: false,
  /** Longer than the idle time of common load balancers (60 s), so that they close first and no request meets a closed door. */
  keepAliveTimeout: 72_000,
  /** Until the whole request has come: 256 MiB over a slow line. */
  requestTimeout: 300_000,
  /** Stopping is answered in our own shape by the hold gate. */
  return503OnClosing: false,
  http: {
    /** Node answers 400 by itself to a request without Host; we do not need it. */
    requireHostHeader: false,
    /** As many bytes of a body are read before other connections have a turn. */
    highWaterMark: 16 * 1024,
  },
  /** Three characters of escape for each of an id's 256, and room for a file's path. */
  routerOptions: { maxParamLength: 4096 },
  /**
   * What came is checked, never bent into shape. The code of the checks is not optimized: optimizing it at each start takes longer
   * than a process ever saves by it.
   */
  ajv: {
    customOptions: {
      coerceTypes: false,
      removeAdditional: false,
      useDefaults: false,
      code: { optimize: false },
    },
  },
  clientErrorHandler: (error: Error & { readonly code?: string }, socket: Duplex): void => {
    answerRaw(rawFailure(error), socket);
  },
} as const;

/** An application without routes, in which every error, also the framework's and Node's own, leaves in our shape. */
export function createApp(gate: HoldGate, { requestHoldMs }: Timings, listeners: AppListeners): App {
  const { answer, notFound } = createFailureAnswer(listeners.onFailure);
  const app = fastify({
    ...serverOptions,
    connectionTimeout: requestHoldMs + connectionSlackMs,
    frameworkErrors: (error, request, reply) => void answer(error, request, reply),
  }).withTypeProvider<TypeBoxTypeProvider>();
  // Answers are built field by field by the routes; a second, schema-driven selection would only hide mistakes.
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  app.setErrorHandler(answer);
  app.setNotFoundHandler(notFound);
  boundPipelining(app);
  ignoreBodies(app);
  app.decorateRequest('state', null);
  app.addHook('onSend', (request, reply, payload, done) => {
    // One answer: the second is dropped here.
    if (request.state?.cutOff === true) return;
    // Here, not when the response ends: a client that hung up never lets it end, but its call has been answered.
    request.state?.hold?.release();
    if (!isForOperators(request)) listeners.onAnswer(answeredOf(request, reply));
    if (gate.state === 'open') return done(null, payload);
    void reply.header('connection', 'close');
    onceWhole(request.raw, () => done(null, payload));
  });
  takeOverNodeAnswers(app.server);
  return app;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A probe or a scrape: what it is answered is nobody's work, and is not counted as such. */
    readonly forOperators?: boolean;
    /** It changes nothing, so a key that only watches may ask it. */
    readonly onlyReads?: boolean;
  }
}

const isForOperators = ({ routeOptions }: FastifyRequest): boolean =>
  routeOptions.config.forOperators === true;

function answeredOf({ raw, routeOptions }: FastifyRequest, reply: FastifyReply): Answered {
  const { method, url } = routeOptions;
  const route = url === undefined ? null : `${[method].flat().join(' ')} ${url}`;
  return {
    face: faceOf(raw.url ?? '/'),
    status: reply.statusCode,
    route,
    tookMs: reply.elapsedTime,
  };
}

/** Requests of one connection that wait for their answers. HTTP libraries and most proxies wait for each answer. */
const mostPipelined = 32;

/**
 * Ends a connection with more of them. Requests that arrive in one piece are parsed in one go, and all other connections wait
 * meanwhile.
 */
function boundPipelining(app: App): void {
  const waiting = new WeakMap<Socket, number>();
  const count = (socket: Socket, change: number): number => {
    const now = (waiting.get(socket) ?? 0) + change;
    waiting.set(socket, now);
    return now;
  };
  app.addHook('onRequest', (request, reply, done) => {
    const { socket } = request.raw;
    if (socket.destroyed) return void reply.hijack();
    reply.raw.once('close', () => count(socket, -1));
    if (count(socket, 1) <= mostPipelined) return done();
    reply.hijack();
    socket.destroy();
  });
}

/** A request for an address that does not exist is answered at once, and what it brings is thrown away. */
function ignoreBodies(app: App): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request: FastifyRequest, payload: FastifyRequest['raw'], done) => {
    payload.resume();
    done(null);
  });
}

/*
 * Requests that are not even HTTP. Their path cannot be trusted or is not known, so they get the answer of the RFT
 * face, 5xx: a trainer behind it must never see a 4xx, and nobody else loses by a 500.
 */

/** How long the client may go on sending before the connection is cut, so that it can read the answer first. */
const lingerMs = 1_000;

/** Answers a broken request on its bare connection; later calls for the same connection do nothing. */
function answerRaw(failure: Failure, socket: Duplex): void {
  if (!socket.writable) return;
  const { status, body } = failureToHttp('rft', failure);
  const text = JSON.stringify(body);
  socket.on('error', () => socket.destroy());
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\ncontent-type: application/json\r\nconnection: close\r\n` +
      `content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
  setTimeout(() => socket.destroy(), lingerMs).unref();
}

/** What the HTTP parser's error means; `code` is Node's. */
function rawFailure(error: { readonly code?: string; readonly message: string }): Failure {
  const reasons: Readonly<Record<string, string>> = {
    HPE_HEADER_OVERFLOW: 'the headers are larger than 16 KiB; send fewer or smaller ones',
    ERR_HTTP_REQUEST_TIMEOUT: 'the request did not come whole in time; check the network, and send it again',
  };
  const reason = reasons[error.code ?? ''] ?? `this is not HTTP (${error.message}); check the client`;
  return new Failure('invalid_request', reason, { evidence: { error: error.code ?? 'unknown' } });
}

/** Takes over the answers that Node would give by itself, 417 and a bare hang-up among them. */
function takeOverNodeAnswers(server: Server): void {
  // An expectation that nobody knows may be ignored (RFC 9110, 10.1.1); the request is answered as if it had none.
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    server.emit('request', request, response);
  });
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    answerRaw(
      new Failure('invalid_request', 'this is not a proxy; send the request to its own address'),
      socket,
    );
  });
}

/** What the gateway knows of a request in hand beside what the client sent. */
type RequestState = {
  hold: Hold | null;
  grant: Grant | null;
  /** What an E2B client showed in place of a key. */
  pass: Pass | null;
  /** What the model wrote, where its route's body has such a member and it came. */
  written: Written | null;
  /** Told in the error body as soon as they are known. */
  rollout: RolloutId | null;
  call: CallId | null;
  /** Of a request for a sandbox of E2B's clients: says what becomes of it. */
  inHand: RequestInHand | null;
  /** It was told that this gateway has stopped; what its work comes to is for the repeat. */
  cutOff: boolean;
};

export const newRequestState = (): RequestState => ({
  hold: null,
  grant: null,
  pass: null,
  written: null,
  rollout: null,
  call: null,
  inHand: null,
  cutOff: false,
});

declare module 'fastify' {
  interface FastifyRequest {
    /** Null for requests that never reached a route. */
    state: RequestState | null;
  }
}
