import { fastify } from 'fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { Answered } from '../../../src/ports/gateway-metrics.ts';
import { createFailureAnswer } from './answer-failure.ts';
import type { FailureListener } from './answer-failure.ts';
import type { App } from './app.ts';
import { faceOf } from './face-of.ts';
import type { HoldGate } from './hold-gate.ts';
import { takeOverNodeAnswers } from './raw-errors.ts';
import { onceWhole } from './read-body.ts';
import { serverOptions } from './server-options.ts';

export type AppListeners = {
  readonly onFailure: FailureListener;
  readonly onAnswer: (answered: Answered) => void;
};

/** An application without routes, in which every error, also the framework's and Node's own, leaves in our shape. */
export function createApp(gate: HoldGate, listeners: AppListeners): App {
  const { answer, notFound } = createFailureAnswer(listeners.onFailure);
  const app = fastify({
    ...serverOptions,
    frameworkErrors: (error, request, reply) => void answer(error, request, reply),
  }).withTypeProvider<TypeBoxTypeProvider>();
  // Answers are built field by field by the routes; a second, schema-driven selection would only hide mistakes.
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  app.setErrorHandler(answer);
  app.setNotFoundHandler(notFound);
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

/** A request for an address that does not exist is answered at once, and what it brings is thrown away. */
function ignoreBodies(app: App): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request: FastifyRequest, payload: FastifyRequest['raw'], done) => {
    payload.resume();
    done(null);
  });
}
