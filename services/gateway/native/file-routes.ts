import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { FileAnswer, FileParams, FileQuery } from '#src/protocol/native/calls.ts';
import type { GatewayCore } from '../core.ts';
import type { App } from '../http/app.ts';
import { invalid } from '../http/failure-of.ts';
import { callerOf } from '../http/identify.ts';
import { chunksOf, limited, tooLarge } from '../http/read-body.ts';
import { takeRolloutRef } from '../http/taking.ts';

/**
 * Bytes in and out, streamed: a file never stands in the gateway's memory. Paths are below the workspace; one that
 * starts with a second slash (`/files//etc/hosts`) is absolute.
 */
export function fileRoutes(app: App, core: GatewayCore, maxFileBytes: number): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request: FastifyRequest, payload: Readable, done) => done(null, payload));
  const shape = { params: FileParams, querystring: FileQuery };

  app.put(
    '/rollouts/:id/files/*',
    { schema: { ...shape, summary: 'Write a file', response: { 200: FileAnswer } } },
    async (request) => {
      const rollout = takeRolloutRef(request, request.params.id, request.query);
      const path = pathOf(request.params['*']);
      if (Number(request.headers['content-length'] ?? 0) > maxFileBytes) throw tooLarge(maxFileBytes);
      const body = limited(chunksOf(request.raw), maxFileBytes);
      const caller = callerOf(request, 'native');
      const { bytes } = await core.putFile(caller, rollout, path, body, request.query.user ?? 'policy');
      return { path, bytes };
    },
  );

  app.get(
    '/rollouts/:id/files/*',
    { schema: { ...shape, summary: 'Read a file', response: { 200: Type.Unknown() } } },
    async (request, reply) => {
      const rollout = takeRolloutRef(request, request.params.id, request.query);
      const path = pathOf(request.params['*']);
      const caller = callerOf(request, 'native');
      const bytes = await core.getFile(caller, rollout, path, request.query.user ?? 'policy');
      // Too large a file shows as a broken connection: by then the status has been sent.
      const stream = Readable.from(limited(bytes, maxFileBytes), { objectMode: false });
      return reply.type('application/octet-stream').send(stream);
    },
  );
}

function pathOf(path: string): string {
  if (path === '' || path.includes('\0')) throw invalid('the address names no file');
  return path;
}
