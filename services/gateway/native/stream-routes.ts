import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Failure } from '#src/failure/failure.ts';
import { failureToHttp } from '#src/failure/http.ts';
import type { Clock } from '#src/ports/clock.ts';
import { StdinAnswer, StdinQuery, StreamEvents, StreamQuery } from '#src/protocol/native/calls.ts';
import { CallParams, RunningAnswer } from '#src/protocol/native/parts.ts';
import { maxStdinBytes, type StreamOffsets } from '#src/protocol/sandboxd/wire.ts';
import type { GatewayCore, Progress } from '../core-interface.ts';
import { type FailureListener, invalid } from '../http/answer-failure.ts';
import type { App } from '../http/app.ts';
import { callerOf } from '../http/identify.ts';
import { readBody, tooLarge } from '../http/read-body.ts';
import { takeCall, takeRolloutRef, waitMsOf } from '../http/taking.ts';
import { eventStream, parseEventId } from './event-stream.ts';

export type StreamParts = {
  readonly core: GatewayCore;
  readonly clock: Clock;
  readonly onFailure: FailureListener;
};

const eventStreamType = 'text/event-stream';
const octets = 'application/octet-stream';

/** A call as it happens: what it prints as server-sent events, and its stdin in pieces. */
export function streamRoutes(app: App, parts: StreamParts): void {
  const { core } = parts;
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (request: FastifyRequest, payload: Readable) => readPiece(request, payload));

  app.get(
    '/rollouts/:id/calls/:call_id/stream',
    {
      schema: {
        operationId: 'followCall',
        summary: 'What a command with `stream` prints, as it prints it',
        params: CallParams,
        querystring: StreamQuery,
        produces: eventStreamType,
        response: { 200: StreamEvents, 202: RunningAnswer },
      },
    },
    async (request, reply) => {
      const { params, query } = request;
      const rollout = takeRolloutRef(request, params.id, query);
      const call = takeCall(request, params.call_id);
      const from = offsetsOf(query.offset ?? request.headers['last-event-id']);
      const left = new AbortController();
      reply.raw.once('close', () => left.abort());
      const asked = { from, waitMs: waitMsOf(query.wait_s), gone: left.signal };
      const progress = await core.follow(callerOf(request, 'native'), rollout, call, asked);
      return sendEvents(parts, request, reply, { progress, from });
    },
  );

  app.post(
    '/rollouts/:id/calls/:call_id/stdin',
    {
      schema: {
        operationId: 'writeStdin',
        summary: 'Give a command with `open_stdin` a piece of its stdin',
        params: CallParams,
        querystring: StdinQuery,
        consumes: [octets],
        response: { 200: StdinAnswer, 202: RunningAnswer },
      },
    },
    async (request) => {
      const { params, query } = request;
      const rollout = takeRolloutRef(request, params.id, query);
      const call = takeCall(request, params.call_id);
      const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
      const piece = { offset: Number(query.offset), bytes, isLast: query.end === 'true' };
      const caller = callerOf(request, 'native');
      const { received, open } = await core.giveStdin(caller, rollout, call, piece, waitMsOf(query.wait_s));
      return { received, open };
    },
  );
}

async function readPiece(request: FastifyRequest, payload: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const { hold = null } = request.state ?? {};
  await readBody(payload, hold, 2 * maxStdinBytes, (chunk) => {
    bytes += chunk.length;
    if (bytes > maxStdinBytes) throw tooLarge(maxStdinBytes);
    hold?.grow(chunk.length);
    chunks.push(chunk);
  });
  return Buffer.concat(chunks);
}

function offsetsOf(id: string | readonly string[] | undefined): StreamOffsets {
  if (id === undefined || id === '') return { stdout: 0, stderr: 0 };
  const offsets = parseEventId(String(id));
  if (offsets === null) throw invalid('Last-Event-ID is not the id of an event of this stream');
  return offsets;
}

type Sent = { readonly progress: AsyncIterable<Progress>; readonly from: StreamOffsets };

function sendEvents(
  { clock, onFailure }: StreamParts,
  request: FastifyRequest,
  reply: FastifyReply,
  sent: Sent,
): FastifyReply {
  const { rollout = null, call = null, hold = null } = request.state ?? {};
  const context = { ...(rollout && { rollout }), ...(call && { call }) };
  const present = (failure: Failure) => {
    onFailure('native', { failure, rollout, call });
    return failureToHttp('native', failure, context).body;
  };
  const events = Readable.from(eventStream({ ...sent, clock, present }), { objectMode: false });
  // It is held until it has ended, not until it has begun.
  if (request.state !== null) request.state.hold = null;
  events.once('close', () => hold?.release());
  // Proxies must pass each event on as it comes.
  const headers = { 'cache-control': 'no-store', 'x-accel-buffering': 'no' };
  return reply.code(200).headers(headers).type(eventStreamType).send(events);
}
