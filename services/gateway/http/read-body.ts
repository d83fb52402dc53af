import type { IncomingMessage } from 'node:http';
import { finished, type Readable } from 'node:stream';
import { setImmediate as othersTurn } from 'node:timers/promises';
import { Failure } from '#src/failure/failure.ts';
import type { Hold } from './hold-gate.ts';

/**
 * Hands the whole body to `keep`, chunk by chunk; it may throw to refuse it. So much of a refused body is still read and
 * thrown away as `drainBytes` says: who closes a connection before the client has sent everything makes it see a reset
 * instead of the answer. Throws `Failure` with `payload_too_large` (beyond `drainBytes`), `invalid_request` (the client
 * went away), or what `keep` threw.
 */
export async function readBody(
  stream: Readable,
  hold: Hold | null,
  drainBytes: number,
  keep: (chunk: Buffer) => void,
): Promise<void> {
  let bytes = 0;
  let refusal: { readonly thrown: unknown } | null = null;
  for await (const chunk of chunksOf(stream, hold, 'kept')) {
    bytes += chunk.length;
    refusal ??= refusalOf(chunk, keep);
    if (bytes <= drainBytes) continue;
    refusal ??= { thrown: tooLarge(drainBytes) };
    break;
  }
  if (refusal !== null) throw refusal.thrown;
}

function refusalOf(chunk: Buffer, keep: (chunk: Buffer) => void): { readonly thrown: unknown } | null {
  try {
    keep(chunk);
    return null;
  } catch (thrown) {
    return { thrown };
  }
}

/** The chunks as they come, refusing more than `maxBytes` in all; for bytes that are passed on, not kept. */
export async function* limited<Chunk extends Uint8Array>(
  chunks: AsyncIterable<Chunk>,
  maxBytes: number,
): AsyncGenerator<Chunk> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw tooLarge(maxBytes);
    yield chunk;
  }
}

export function tooLarge(maxBytes: number): Failure {
  return new Failure('payload_too_large', `the body is larger than ${maxBytes} bytes; send less`, {
    evidence: { maxBytes },
  });
}

/**
 * A request's body, chunk by chunk; the hold gate hears how fast it comes. Other connections have a turn between two chunks, also if the sender is fast. Leaving the loop
 * early must not destroy the stream: the answer still has to go out on the same connection.
 */
export async function* chunksOf(
  stream: Readable,
  hold: Hold | null,
  as: 'kept' | 'passed_on',
): AsyncGenerator<Buffer> {
  // Here, where its first byte is asked for: until then its client waits for others.
  const reading = hold?.read(as);
  let isFirst = true;
  try {
    for await (const piece of stream.iterator({ destroyOnReturn: false })) {
      if (!isFirst) await othersTurn();
      isFirst = false;
      const chunk = Buffer.isBuffer(piece) ? piece : Buffer.from(String(piece));
      reading?.came(chunk.length);
      yield chunk;
      reading?.awaits();
    }
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure('invalid_request', 'the connection ended before the whole body arrived', {
      cause: error,
    });
  } finally {
    reading?.ended();
  }
}

/** A body of a megabyte takes milliseconds; who sends for longer than this may see a reset. */
const wholeMs = 1_000;

/**
 * Goes on when nothing of a request is on its way any more: with its connection closed before, its client would see a reset
 * instead of the answer.
 */
export function onceWhole(request: IncomingMessage, goOn: () => void): void {
  if (request.complete) return goOn();
  request.resume();
  finished(request, { signal: AbortSignal.timeout(wholeMs) }, () => goOn());
}
