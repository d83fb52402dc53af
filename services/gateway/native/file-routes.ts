import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { FileIn } from '#src/ports/sandbox-link.ts';
import {
  ArchiveAnswer,
  ArchiveInQuery,
  ArchiveQuery,
  FileAnswer,
  FileInQuery,
  FileParams,
  FileQuery,
} from '#src/protocol/native/calls.ts';
import { Bytes, RolloutParams } from '#src/protocol/native/parts.ts';
import type { FilePlace } from '#src/protocol/sandboxd/wire.ts';
import type { GatewayCore, RolloutRef } from '../core-interface.ts';
import type { App } from '../http/app.ts';
import { invalid } from '../http/answer-failure.ts';
import { callerOf } from '../http/identify.ts';
import { chunksOf, limited, tooLarge } from '../http/read-body.ts';
import { takeCall, takeRolloutRef } from '../http/taking.ts';

const octets = 'application/octet-stream';
const tar = 'application/x-tar';

/**
 * Bytes in and out, streamed: neither a file nor an archive ever stands in the gateway's memory. Paths are below the
 * workspace; one that starts with a second slash (`/files//etc/hosts`) is absolute.
 */
export function fileRoutes(app: App, core: GatewayCore, maxFileBytes: number): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request: FastifyRequest, payload: Readable, done) => done(null, payload));

  const bytesIn = (request: FastifyRequest, rollout: RolloutRef, to: FileIn, setup?: string) => {
    if (Number(request.headers['content-length'] ?? 0) > maxFileBytes) throw tooLarge(maxFileBytes);
    return core.putFile(
      callerOf(request, 'native'),
      rollout,
      to,
      limited(chunksOf(request.raw, request.state?.hold ?? null, 'passed_on'), maxFileBytes),
      setup === 'true',
    );
  };
  const bytesOut = async (
    request: FastifyRequest,
    reply: FastifyReply,
    rollout: RolloutRef,
    from: FilePlace,
  ) => {
    const bytes = await core.getFile(callerOf(request, 'native'), rollout, {
      ...from,
      mostBytes: maxFileBytes,
      ...(from.form === 'archive' && { reportsLeftOut: true }),
    });
    const type = from.form === 'archive' ? tar : octets;
    // The sandbox refuses too large a one; an older one does not, and then it shows as a broken connection.
    return reply.type(type).send(Readable.from(limited(bytes, maxFileBytes), { objectMode: false }));
  };

  app.put(
    '/rollouts/:id/files/*',
    {
      schema: {
        params: FileParams,
        querystring: FileInQuery,
        operationId: 'writeFile',
        summary: 'Write a file',
        consumes: [octets],
        response: { 200: FileAnswer },
      },
    },
    async (request) => {
      const { params, query } = request;
      const rollout = takeRolloutRef(request, params.id, query);
      const place = placeOf('file', pathOf(params['*']), query);
      const to = { ...place, ...uploadOf(request, query) };
      const { bytes } = await bytesIn(request, rollout, to, query.setup);
      return { path: place.path, bytes };
    },
  );

  app.get(
    '/rollouts/:id/files/*',
    {
      schema: {
        params: FileParams,
        querystring: FileQuery,
        operationId: 'readFile',
        summary: 'Read a file',
        produces: octets,
        response: { 200: Bytes },
      },
    },
    async (request, reply) => {
      const { params, query } = request;
      const rollout = takeRolloutRef(request, params.id, query);
      return bytesOut(request, reply, rollout, placeOf('file', pathOf(params['*']), query));
    },
  );

  app.put(
    '/rollouts/:id/archive',
    {
      schema: {
        params: RolloutParams,
        querystring: ArchiveInQuery,
        operationId: 'uploadArchive',
        summary: 'Unpack a tar into a folder',
        consumes: [tar],
        response: { 200: ArchiveAnswer },
      },
    },
    async (request) => {
      const { params, query } = request;
      const rollout = takeRolloutRef(request, params.id, query);
      const place = placeOf('archive', pathOf(query.path), query);
      const to = { ...place, ...uploadOf(request, query) };
      const { bytes, entries = 0 } = await bytesIn(request, rollout, to, query.setup);
      return { path: place.path, bytes, entries };
    },
  );

  app.get(
    '/rollouts/:id/archive',
    {
      schema: {
        params: RolloutParams,
        querystring: ArchiveQuery,
        operationId: 'downloadArchive',
        summary: 'A tar of what is below a folder',
        produces: tar,
        response: { 200: Bytes },
      },
    },
    async (request, reply) => {
      const { params, query } = request;
      const rollout = takeRolloutRef(request, params.id, query);
      return bytesOut(request, reply, rollout, placeOf('archive', pathOf(query.path), query));
    },
  );
}

function placeOf(
  form: FilePlace['form'],
  path: string,
  { user = 'policy' }: { user?: FilePlace['user'] },
): FilePlace {
  return { form, path, user };
}

function uploadOf(request: FastifyRequest, { call_id }: { call_id?: string }): Pick<FileIn, 'call'> {
  return call_id === undefined ? {} : { call: takeCall(request, call_id) };
}

function pathOf(path: string): string {
  if (path === '' || path.includes('\0')) throw invalid('the address names no file');
  return path;
}
