import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { asFailure, Failure } from '#src/failure/failure.ts';
import type { RequestInHand } from '#src/lifecycle/requests-in-hand.ts';
import { RunParams } from '#src/protocol/e2b/control.ts';
import { FilesQuery } from '#src/protocol/e2b/data.ts';
import { Bytes, described, FilesWritten, Nothing } from '#src/protocol/e2b/described.ts';
import type { GatewayCore } from '../core-interface.ts';
import type { App } from '../http/app.ts';
import { invalid } from '../http/answer-failure.ts';
import { chunksOf, limited, tooLarge } from '../http/read-body.ts';
import { type Addressed, addressedBy, checkUser } from './identify.ts';
import { boundaryOf, partsOf } from './multipart.ts';
import { baseName, inSandbox } from './paths.ts';
import type { E2bParts } from './parts.ts';
import { checkAlive } from './sandbox.ts';

/** Files in and out, streamed, and whether the sandbox is still there: the plain HTTP beside E2B's two services. */
export function fileRoutes(app: App, parts: E2bParts): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request: FastifyRequest, payload: Readable, done) => done(null, payload));

  const healthy = described('e2bGetSandboxHealth', 'Whether the sandbox is alive', { 204: Nothing });
  app.get('/health', { schema: { ...healthy, params: RunParams } }, async (request, reply) => {
    const { caller, ref } = addressedBy(request);
    checkAlive(await parts.core.view(caller, ref));
    return reply.code(204).send();
  });

  app.get(
    '/files',
    {
      schema: {
        operationId: 'e2bReadFile',
        summary: 'Read a file',
        querystring: FilesQuery,
        produces: 'application/octet-stream',
        response: { 200: Bytes },
      },
    },
    async (request, reply) => {
      const addressed = addressedBy(request);
      const { path, username } = request.query;
      checkUser(request, username);
      if (path === undefined) throw invalid('no path is named');
      try {
        const bytes = await orGone(parts, addressed, (core) =>
          core.getFile(addressed.caller, addressed.ref, { ...placeOf(path), mostBytes: parts.fileBytes }),
        );
        // Too large a file shows as a broken connection: by then the status has been sent.
        const sent = reportFailure(limited(bytes, parts.fileBytes), request.state?.inHand ?? null);
        const stream = Readable.from(sent, { objectMode: false });
        return await reply.type('application/octet-stream').send(stream);
      } catch (thrown) {
        return answerErrno(reply, path, thrown);
      }
    },
  );

  const writing = {
    ...described('e2bWriteFiles', 'Write one file, or several as parts', { 200: FilesWritten }),
    consumes: ['multipart/form-data', 'application/octet-stream'],
    querystring: FilesQuery,
  };
  app.post('/files', { schema: writing }, async (request, reply) => {
    const addressed = addressedBy(request);
    checkUser(request, request.query.username);
    if (Number(request.headers['content-length'] ?? 0) > parts.fileBytes) throw tooLarge(parts.fileBytes);
    if (request.headers['content-encoding'] !== undefined)
      throw invalid('files are taken as they are; send them without gzip');
    const written: unknown[] = [];
    try {
      for await (const { path, bytes } of filesIn(request, request.query.path, parts.fileBytes)) {
        await orGone(parts, addressed, (core) =>
          core.putFile(addressed.caller, addressed.ref, placeOf(path), bytes),
        );
        written.push({ name: baseName(path), type: 'file', path });
      }
    } catch (thrown) {
      return answerErrno(reply, request.query.path ?? 'the file', thrown);
    }
    return written;
  });
}

/** A transfer that fails after its status was sent reaches no other handler. */
async function* reportFailure<Chunk>(
  chunks: AsyncIterable<Chunk>,
  inHand: RequestInHand | null,
): AsyncGenerator<Chunk> {
  try {
    yield* chunks;
  } catch (thrown) {
    inHand?.failed(asFailure(thrown));
    throw thrown;
  }
}

const placeOf = (path: string) => ({ path: inSandbox(path), user: 'policy', form: 'file' }) as const;

type Incoming = { readonly path: string; readonly bytes: AsyncIterable<Buffer> };

/** One file as the body, or several as parts, each under the path that its file name is; one part alone goes where the query says. */
async function* filesIn(
  request: FastifyRequest,
  path: string | undefined,
  maxBytes: number,
): AsyncGenerator<Incoming> {
  const body = limited(chunksOf(request.raw, request.state?.hold ?? null, 'passed_on'), maxBytes);
  const boundary = boundaryOf(request.headers['content-type'] ?? '');
  if (boundary === null) {
    if (path === undefined) throw invalid('no path is named');
    return yield { path, bytes: body };
  }
  for await (const part of partsOf(body, boundary)) {
    const named = path ?? part.filename;
    if (part.name !== 'file' || named === null || named === '')
      throw invalid('a part is no file with a name');
    yield { path: named, bytes: part.bytes };
  }
}

/** What the file system says of a path is an answer about it; everything else stays a failure, and none of them is a 404. */
function answerErrno(reply: FastifyReply, path: string, thrown: unknown): FastifyReply {
  const errno = thrown instanceof Failure ? thrown.evidence['errno'] : undefined;
  const status = errnos[String(errno)];
  if (status === undefined) throw thrown;
  const message = status === 404 ? `path '${path}' does not exist` : `${path}: ${String(errno)}`;
  return reply.code(status).send({ code: status, message });
}

const errnos: Readonly<Record<string, number>> = { ENOENT: 404, ENOTDIR: 404, ENOSPC: 507, EDQUOT: 507 };

/** So long the fleet may take to see that a sandbox has ended, after its files could not be reached. */
const seenMs = 3_000;
const lookMs = 100;

/** A transfer that broke off is told as the loss of its sandbox where that is what it was. */
async function orGone<Result>(
  { core, clock }: E2bParts,
  { caller, ref }: Addressed,
  transfer: (core: GatewayCore) => Promise<Result>,
): Promise<Result> {
  try {
    return await transfer(core);
  } catch (thrown) {
    if (!(thrown instanceof Failure) || thrown.code !== 'sandboxd_unreachable') throw thrown;
    for (let waitedMs = 0; waitedMs < seenMs; waitedMs += lookMs) {
      checkAlive(await core.view(caller, ref));
      await clock.sleep(lookMs);
    }
    throw thrown;
  }
}
