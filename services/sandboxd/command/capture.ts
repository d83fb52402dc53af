import type { Captured, CapturedBytes } from '#src/protocol/sandboxd/wire.ts';

/** A stream's kept bytes, exactly as long as what was kept. */
export type RawCapture = { readonly head: Buffer; readonly tail: Buffer; readonly totalBytes: number };

/** Most commands print little: blocks start here and double up to their limit. */
const firstBlockBytes = 4096;

/** Bytes up to a limit; its memory grows by doubling, so an `echo` does not cost the limit. */
class Block {
  readonly limitBytes: number;
  #bytes = Buffer.alloc(0);
  #usedBytes = 0;

  constructor(limitBytes: number) {
    this.limitBytes = limitBytes;
  }

  get isFull(): boolean {
    return this.#usedBytes === this.limitBytes;
  }

  /** Copies what fits and returns how many bytes that were. */
  append(chunk: Uint8Array): number {
    const taken = Math.min(chunk.length, this.limitBytes - this.#usedBytes);
    this.#reserve(this.#usedBytes + taken);
    this.#bytes.set(chunk.subarray(0, taken), this.#usedBytes);
    this.#usedBytes += taken;
    return taken;
  }

  overwrite(chunk: Uint8Array, offset: number): void {
    this.#bytes.set(chunk, offset);
  }

  slice(from = 0, to = this.#usedBytes): Buffer {
    return this.#bytes.subarray(from, to);
  }

  #reserve(neededBytes: number): void {
    if (neededBytes <= this.#bytes.length) return;
    const wantedBytes = Math.max(neededBytes, this.#bytes.length * 2, firstBlockBytes);
    // Not from Node's shared pool: a small slice there would keep a whole slab alive.
    const grown = Buffer.allocUnsafeSlow(Math.min(wantedBytes, this.limitBytes));
    this.#bytes.copy(grown, 0, 0, this.#usedBytes);
    this.#bytes = grown;
  }
}

/** The last bytes of a stream: a block that is written round and round once it is full. */
class Ring {
  readonly #block: Block;
  /** Where the oldest byte is, and so where the next one goes; 0 until the block is full. */
  #oldest = 0;

  constructor(limitBytes: number) {
    this.#block = new Block(limitBytes);
  }

  push(chunk: Uint8Array): void {
    const limitBytes = this.#block.limitBytes;
    let rest = chunk.subarray(this.#block.append(chunk));
    if (rest.length === 0 || limitBytes === 0) return;
    // Only the last `limitBytes` of the rest survive; where the skipped ones would have ended is where these begin.
    const skipped = Math.max(0, rest.length - limitBytes);
    this.#oldest = (this.#oldest + skipped) % limitBytes;
    rest = rest.subarray(skipped);
    const untilEnd = rest.subarray(0, limitBytes - this.#oldest);
    this.#block.overwrite(untilEnd, this.#oldest);
    this.#block.overwrite(rest.subarray(untilEnd.length), 0);
    this.#oldest = (this.#oldest + rest.length) % limitBytes;
  }

  parts(): readonly [older: Buffer, newer: Buffer] {
    return [this.#block.slice(this.#oldest), this.#block.slice(0, this.#oldest)];
  }
}

/**
 * Keeps the head and the tail of a stream and counts all of it. Memory is at most `keepBytes`, whatever is written:
 * chunks are copied in and never held.
 */
export class Capture {
  readonly #head: Block;
  readonly #tail: Ring;
  readonly #keepBytes: number;
  #totalBytes = 0;

  constructor(keepBytes: number) {
    this.#keepBytes = keepBytes;
    this.#head = new Block(Math.ceil(keepBytes / 2));
    this.#tail = new Ring(Math.floor(keepBytes / 2));
  }

  push(chunk: Uint8Array): void {
    this.#totalBytes += chunk.length;
    const rest = this.#head.isFull ? chunk : chunk.subarray(this.#head.append(chunk));
    if (rest.length > 0) this.#tail.push(rest);
  }

  /** As {@link pieceOf}, of what is kept now. */
  pieceAt(offset: number, mostBytes: number): Piece | null {
    return pieceIn(this.#head.slice(), this.#tail.parts(), this.#totalBytes, offset, mostBytes);
  }

  /** A copy of what is kept. While nothing was cut, all of it is the head. */
  taken(): RawCapture {
    const totalBytes = this.#totalBytes;
    const tail = this.#tail.parts();
    if (totalBytes <= this.#keepBytes) {
      return { head: Buffer.concat([this.#head.slice(), ...tail]), tail: Buffer.alloc(0), totalBytes };
    }
    return { head: Buffer.concat([this.#head.slice()]), tail: Buffer.concat(tail), totalBytes };
  }
}

/** A piece of a stream from an offset on, or how many bytes from there are no longer kept. */
export type Piece = { readonly bytes: Buffer } | { readonly lost: number };

/** A copy, at most `mostBytes` long; null: the stream has nothing after the offset, yet. */
export function pieceOf(
  { head, tail, totalBytes }: RawCapture,
  offset: number,
  mostBytes: number,
): Piece | null {
  return pieceIn(head, [tail], totalBytes, offset, mostBytes);
}

function pieceIn(
  head: Buffer,
  tail: readonly Buffer[],
  totalBytes: number,
  offset: number,
  mostBytes: number,
): Piece | null {
  if (offset >= totalBytes) return null;
  if (offset < head.length) return { bytes: Buffer.from(head.subarray(offset, offset + mostBytes)) };
  let partAt = totalBytes - tail.reduce((bytes, part) => bytes + part.length, 0);
  if (offset < partAt) return { lost: partAt - offset };
  for (const part of tail) {
    const within = offset - partAt;
    if (within < part.length) return { bytes: Buffer.from(part.subarray(within, within + mostBytes)) };
    partAt += part.length;
  }
  return null;
}

/** The same stream as it would stand here with fewer bytes kept. */
export function cutCapture(raw: RawCapture, keepBytes: number): RawCapture {
  const { head, tail, totalBytes } = raw;
  if (head.length + tail.length <= keepBytes) return raw;
  const last = tail.length === 0 ? head : tail;
  return {
    head: Buffer.from(head.subarray(0, Math.ceil(keepBytes / 2))),
    tail: Buffer.from(last.subarray(last.length - Math.floor(keepBytes / 2))),
    totalBytes,
  };
}

export const nothingCaptured: RawCapture = { head: Buffer.alloc(0), tail: Buffer.alloc(0), totalBytes: 0 };

/** As text; a character that the cut splits becomes U+FFFD, like any bad UTF-8. */
export function decodeCapture(raw: RawCapture): Captured {
  return {
    head: raw.head.toString('utf8'),
    tail: raw.tail.toString('utf8'),
    totalBytes: raw.totalBytes,
    cutBytes: raw.totalBytes - raw.head.length - raw.tail.length,
  };
}

/** As base64. */
export function encodeCapture({ head, tail }: RawCapture): CapturedBytes {
  return { head: head.toString('base64'), tail: tail.toString('base64') };
}
