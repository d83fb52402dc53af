import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { failureRow } from '#src/failure/codes.ts';
import { asFailure, type Failure } from '#src/failure/failure.ts';
import { saidByE2b } from '#src/failure/http.ts';
import { invalid } from '../http/answer-failure.ts';

/*
 * Connect, as E2B's clients speak it: JSON, uncompressed. A unary call is a plain request whose errors have a word as `code`. A
 * stream is envelopes, each a byte of flags and four of length before its message, and its last one says how the stream ended:
 * one without it is a broken connection to every client, never a result.
 */

/** The words of Connect that are said here, with their HTTP statuses. */
export const words = {
  invalid_argument: 400,
  permission_denied: 403,
  not_found: 404,
  already_exists: 409,
  failed_precondition: 400,
  deadline_exceeded: 504,
} as const;
export type Word = keyof typeof words;

/** A fact about what was asked for, and no failure: a file that is not there, a process that is over. */
export function answerWord(reply: FastifyReply, word: Word, message: string): FastifyReply {
  return reply.code(words[word]).type('application/json').send({ code: word, message });
}

const headBytes = 5;
const lastFlag = 2;

/** The one message of a request to a stream. Throws `invalid_request` for what is no envelope. */
export function messageIn(body: Buffer): unknown {
  const isWhole = body.length >= headBytes && body.readUInt32BE(1) === body.length - headBytes;
  if (!isWhole || body[0] !== 0) throw invalid('the body is not one uncompressed message of Connect');
  try {
    return JSON.parse(body.subarray(headBytes).toString('utf8')) as unknown;
  } catch (error) {
    throw invalid('the message is not JSON; send it with the codec of JSON', error);
  }
}

/** The stream of these messages. What is thrown among them is told in its last envelope, and to `onFailure`. */
export function streamOf(messages: AsyncIterable<unknown>, onFailure: (failure: Failure) => void): Readable {
  return Readable.from(envelopes(messages, onFailure), { objectMode: false });
}

async function* envelopes(
  messages: AsyncIterable<unknown>,
  onFailure: (failure: Failure) => void,
): AsyncGenerator<Buffer> {
  try {
    for await (const message of messages) yield envelope(0, message);
    yield envelope(lastFlag, {});
  } catch (thrown) {
    const failure = asFailure(thrown);
    onFailure(failure);
    yield envelope(lastFlag, { error: errorOf(failure) });
  }
}

function envelope(flags: number, message: unknown): Buffer {
  const text = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(headBytes);
  head.writeUInt8(flags, 0);
  head.writeUInt32BE(text.length, 1);
  return Buffer.concat([head, text]);
}

/** As the status would be read, had it not been sent: its clients take `unavailable` with the words of a lost sandbox for one. */
function errorOf(failure: Failure) {
  const status = failureRow(failure.code).e2b;
  return { code: failureWords[status], message: saidByE2b(failure, status) };
}

const failureWords = {
  400: 'invalid_argument',
  401: 'unauthenticated',
  500: 'internal',
  502: 'unavailable',
  503: 'unavailable',
} as const satisfies Record<ReturnType<typeof failureRow>['e2b'], string>;
