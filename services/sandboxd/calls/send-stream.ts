import type { ServerResponse } from 'node:http';
import { setImmediate as othersTurn } from 'node:timers/promises';
import {
  type OutputStream,
  type MutableOffsets,
  type PieceLine,
  type StreamLine,
  type StreamOffsets,
  streamPieceBytes,
} from '#src/protocol/sandboxd/wire.ts';
import { type Piece, pieceOf } from '../command/capture.ts';
import { WireError } from '../wire-error.ts';
import type { Outputs } from './answer.ts';
import type { JournalEntry } from './journal-entry.ts';
import type { LiveCall } from './live-call.ts';

/** A client that reconnects may find its own lost connection still here. More is a client gone wrong. */
const mostReaders = 8;

type Streamed = JournalEntry & { readonly live: LiveCall };

/**
 * Sends what a call prints from these offsets on, until it is done. At most one piece waits for a slow reader; what the command prints
 * meanwhile is kept as far as its answer keeps it, and the rest is reported as lost. Throws `stream_busy`.
 */
export async function sendStream(
  outputs: Outputs,
  entry: Streamed,
  from: StreamOffsets,
  response: ServerResponse,
  gone: AbortSignal,
): Promise<void> {
  const { live } = entry;
  if (live.readers >= mostReaders)
    throw new WireError('stream_busy', `call ${entry.callId} has ${mostReaders} readers`);
  live.readers += 1;
  // Wakes this reader too, which then leaves.
  gone.addEventListener('abort', () => live.changed(), { once: true });
  try {
    response.writeHead(200, { 'content-type': 'application/x-ndjson' }).flushHeaders();
    await sendPieces(outputs, entry, { ...from }, response, gone);
  } finally {
    live.readers -= 1;
  }
}

async function sendPieces(
  outputs: Outputs,
  entry: Streamed,
  at: MutableOffsets,
  response: ServerResponse,
  gone: AbortSignal,
): Promise<void> {
  let first: OutputStream = 'stdout';
  while (!gone.aborted) {
    const next = entry.live.next();
    const line = nextLine(outputs, entry, at, first);
    if (line !== null) {
      first = line.stream === 'stdout' ? 'stderr' : 'stdout';
      await write(response, line, gone);
    } else if (entry.live.isOver) {
      return void response.end(encode({ end: true }));
    } else {
      await next;
    }
  }
}

/** The streams take turns. */
function nextLine(
  outputs: Outputs,
  entry: Streamed,
  at: MutableOffsets,
  first: OutputStream,
): PieceLine | null {
  const second = first === 'stdout' ? 'stderr' : 'stdout';
  for (const stream of [first, second] as const) {
    const piece = pieceAt(outputs, entry, stream, at[stream]);
    if (piece === null) continue;
    const line = { stream, at: at[stream] };
    at[stream] += 'lost' in piece ? piece.lost : piece.bytes.length;
    return 'lost' in piece
      ? { ...line, lost: piece.lost }
      : { ...line, base64: piece.bytes.toString('base64') };
  }
  return null;
}

/** While it runs, from what is being kept; then from where that went. Once its answer was evicted, its bytes are gone. */
function pieceAt(
  outputs: Outputs,
  { callId, live, answer }: Streamed,
  stream: OutputStream,
  offset: number,
): Piece | null {
  const capture = live.captures?.[stream === 'stdout' ? 0 : 1];
  if (capture !== undefined) return capture.pieceAt(offset, streamPieceBytes);
  const kept = outputs.find(callId) ?? answer;
  return kept === null ? null : pieceOf(kept[stream], offset, streamPieceBytes);
}

const encode = (line: StreamLine): string => `${JSON.stringify(line)}\n`;

/** Returns when the reader has room for more. */
async function write(response: ServerResponse, line: StreamLine, gone: AbortSignal): Promise<void> {
  if (response.write(encode(line)) || gone.aborted) return othersTurn();
  await new Promise<void>((resolve) => {
    const done = () => {
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.once('drain', done);
    response.once('close', done);
  });
}
