import { fastify } from 'fastify';
import type { FastifyRequest } from 'fastify';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { Face } from '../../../src/model/face.ts';
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
  readonly onAnswer: (face: Face, status: number) => void;
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
    listeners.onAnswer(faceOf(request.raw.url ?? '/'), reply.statusCode);
    if (gate.state === 'open') return done(null, payload);
    void reply.header('connection', 'close');
    onceWhole(request.raw, () => done(null, payload));
  });
  takeOverNodeAnswers(app.server);
  return app;
}

/** A request for an address that does not exist is answered at once, and what it brings is thrown away. */
function ignoreBodies(app: App): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request: FastifyRequest, payload: FastifyRequest['raw'], done) => {
    payload.resume();
    done(null);
  });
}
