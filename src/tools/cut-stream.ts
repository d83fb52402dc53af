import type { Captured } from '../protocol/sandboxd/wire.ts';
import { encodedBytes, headWithin, tailWithin } from './encoded-text.ts';

/** What is left of one stream: its text with a mark where bytes are missing, and how many those are. */
export type CutStream = { readonly text: string; readonly cutBytes: number };

/** Turns a number of missing bytes into the sentence that stands in their place. */
export type CutMark = (bytes: number) => string;

/** The whole stream as it was kept, with the mark where sandboxd already dropped bytes. */
export function keptStream(stream: Captured, mark: CutMark): CutStream {
  if (stream.cutBytes === 0) return { text: stream.head + stream.tail, cutBytes: 0 };
  return joined(stream.head, stream.tail, stream.cutBytes, mark);
}

/**
 * The stream in at most `limit` encoded bytes: half of them its beginning, the rest its end, because the first error
 * and the last line are what a reader looks for. Missing bytes are counted as UTF-8.
 */
export function cutStream(stream: Captured, limit: number, mark: CutMark): CutStream {
  const whole = keptStream(stream, mark);
  if (encodedBytes(whole.text) <= limit) return whole;
  // The mark of all bytes is as long as any mark can get; two line ends set it apart.
  const room = Math.max(0, limit - encodedBytes(mark(stream.totalBytes + stream.cutBytes)) - 4);
  const [front, back] =
    stream.cutBytes === 0 ? [stream.head + stream.tail, null] : [stream.head, stream.tail];
  const head = headWithin(front, Math.ceil(room / 2));
  const rest = back ?? front.slice(head.length);
  const tail = tailWithin(rest, room - encodedBytes(head));
  const droppedHere = utf8Bytes(stream.head + stream.tail) - utf8Bytes(head) - utf8Bytes(tail);
  return joined(head, tail, stream.cutBytes + droppedHere, mark);
}

function joined(head: string, tail: string, cutBytes: number, mark: CutMark): CutStream {
  const before = head === '' || head.endsWith('\n') ? head : `${head}\n`;
  return { text: `${before}${mark(cutBytes)}\n${tail}`, cutBytes };
}

const utf8Bytes = (text: string): number => Buffer.byteLength(text, 'utf8');
