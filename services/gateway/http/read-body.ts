import type { Readable } from 'node:stream';
import { Failure } from '../../../src/failure/failure.ts';

export type BodyLimits = {
  /** A body larger than this is refused. */
  readonly maxBytes: number;
  /**
   * So much of a refused body is still read and thrown away: who closes a connection before the client has sent
   * everything makes it see a reset instead of the answer.
   */
  readonly drainBytes: number;
};

/**
 * The whole body. `onBytes` is told of every chunk that is kept and may throw to refuse it. Throws `Failure` with
 * `payload_too_large`, `invalid_request` (the client went away), or what `onBytes` threw.
 */
export async function readBody(
  stream: Readable,
  limits: BodyLimits,
  onBytes: (bytes: number) => void,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let refusal: unknown;
  for await (const chunk of chunksOf(stream)) {
    bytes += chunk.length;
    refusal ??= refusalOf(chunk.length, bytes, limits, onBytes);
    if (refusal === undefined) chunks.push(chunk);
    else chunks.length = 0;
    if (bytes > limits.drainBytes) break;
  }
  if (refusal !== undefined) throw refusal;
  return Buffer.concat(chunks, bytes);
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

function refusalOf(
  chunkBytes: number,
  totalBytes: number,
  limits: BodyLimits,
  onBytes: (bytes: number) => void,
): unknown {
  if (totalBytes > limits.maxBytes) return tooLarge(limits.maxBytes);
  try {
    onBytes(chunkBytes);
    return undefined;
  } catch (error) {
    return error;
  }
}

/**
 * A request's body, chunk by chunk. Leaving the loop early must not destroy the stream: the answer still has to go out on
 * the same connection.
 */
export async function* chunksOf(stream: Readable): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
      yield Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk));
    }
  } catch (error) {
    throw new Failure('invalid_request', 'the connection ended before the whole body had come', {
      cause: error,
    });
  }
}
