import { Failure } from '../failure/failure.ts';
import type { OutputStream, StreamOffsets } from '../protocol/sandboxd/wire.ts';
import type { CallResult } from './work.ts';

/** Bytes of a followed call at their offset in its stream, or how many from there on are no longer kept. */
export type OutputPiece =
  | { readonly kind: 'output'; readonly stream: OutputStream; readonly at: number; readonly base64: string }
  | { readonly kind: 'gap'; readonly stream: OutputStream; readonly at: number; readonly bytes: number };

/** A stream of a settled call whose output its sandbox has kept; null: the policy broke it. Throws `answer_expired` if it had to make way there. */
export type OpenOutput = (stream: OutputStream) => Promise<AsyncIterable<Uint8Array> | null>;

/** What is kept of a stream: all of it, or its head and its tail, each half of what is kept. */
type Kept = {
  readonly bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
  readonly keptBytes: number;
  readonly totalBytes: number;
};

const longestPiece = 64 * 1024;

/**
 * What a settled call has printed beyond these offsets. A reader that was connected to the end has all of it already; one that comes
 * later, or whose connection broke, gets the rest from here.
 */
export async function* restOfOutput(
  result: CallResult,
  from: StreamOffsets,
  open: OpenOutput,
): AsyncGenerator<OutputPiece> {
  for (const stream of ['stdout', 'stderr'] as const)
    if (from[stream] < totalOf(result, stream))
      yield* beyond(stream, from[stream], await keptOf(result, stream, open));
}

async function* beyond(stream: OutputStream, from: number, kept: Kept): AsyncGenerator<OutputPiece> {
  let [read, at] = [0, from];
  for await (const all of kept.bytes) {
    const chunk = all.subarray(0, kept.keptBytes - read);
    for (const { offset, bytes } of pieces(Buffer.from(chunk), read, kept)) {
      if (offset + bytes.length <= at) continue;
      if (offset > at) yield { kind: 'gap', stream, at, bytes: offset - at };
      const fresh = bytes.subarray(Math.max(0, at - offset));
      at = offset + bytes.length;
      yield { kind: 'output', stream, at: at - fresh.length, base64: fresh.toString('base64') };
    }
    read += chunk.length;
    // A sandbox whose commands are root may send more than it said.
    if (read >= kept.keptBytes) break;
  }
  if (at < kept.totalBytes) yield { kind: 'gap', stream, at, bytes: kept.totalBytes - at };
}

/** A chunk of what is kept, `read` bytes from its beginning, cut where the tail begins, with the offsets in the stream. */
function* pieces(chunk: Buffer, read: number, { keptBytes, totalBytes }: Kept) {
  const headBytes = keptBytes < totalBytes ? Math.ceil(keptBytes / 2) : keptBytes;
  for (let within = 0; within < chunk.length;) {
    const position = read + within;
    const isHead = position < headBytes;
    const length = Math.min(longestPiece, isHead ? headBytes - position : chunk.length);
    const bytes = chunk.subarray(within, within + length);
    yield { offset: isHead ? position : position + totalBytes - keptBytes, bytes };
    within += bytes.length;
  }
}

async function keptOf(result: CallResult, stream: OutputStream, open: OpenOutput): Promise<Kept> {
  const totalBytes = totalOf(result, stream);
  const keptBytes = result.kept?.[stream] ?? 0;
  const elsewhere = keptBytes > 0 ? await open(stream).catch(unlessGone) : null;
  if (elsewhere !== null) return { bytes: elsewhere, keptBytes, totalBytes };
  const bytes = carried(result, stream);
  return { bytes: [bytes], keptBytes: bytes.length, totalBytes };
}

/** Null if the kept output had to make way for other commands' output. */
export function unlessGone(thrown: unknown): null {
  if (thrown instanceof Failure && thrown.code === 'answer_expired') return null;
  throw thrown;
}

/** Of a call that was not sent as bytes, or to an older sandboxd, only texts are there. */
function carried({ base64, ...texts }: CallResult, stream: OutputStream): Buffer {
  return base64 === undefined ? Buffer.from(texts[stream]) : Buffer.from(base64[stream], 'base64');
}

function totalOf(result: CallResult, stream: OutputStream): number {
  return result.totals?.[stream] ?? carried(result, stream).length;
}
