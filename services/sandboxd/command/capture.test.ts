import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Capture, decodeCapture, type Piece, pieceOf } from './capture.ts';

function captureOf(keepBytes: number, chunks: readonly Uint8Array[]): Capture {
  const capture = new Capture(keepBytes);
  for (const chunk of chunks) capture.push(chunk);
  return capture;
}

describe('Capture', () => {
  it('keeps everything as head while the stream is within its limit', () => {
    const taken = captureOf(10, [Buffer.from('01234'), Buffer.from('56789')]).taken();
    expect(decodeCapture(taken)).toEqual({ head: '0123456789', tail: '', totalBytes: 10, cutBytes: 0 });
  });

  it('keeps the first and the last half once one byte more is written', () => {
    const taken = captureOf(10, [Buffer.from('0123456789a')]).taken();
    expect(decodeCapture(taken)).toEqual({ head: '01234', tail: '6789a', totalBytes: 11, cutBytes: 1 });
  });

  it('only counts when nothing may be kept', () => {
    const taken = captureOf(0, [Buffer.from('abc')]).taken();
    expect(decodeCapture(taken)).toEqual({ head: '', tail: '', totalBytes: 3, cutBytes: 3 });
  });

  it('says U+FFFD where the cut splits a character', () => {
    const taken = captureOf(2, [Buffer.from('€€')]).taken();
    expect(decodeCapture(taken).head).toBe('\u{fffd}');
  });

  it('has the same head, tail and counts as the whole stream, however it is cut into chunks', () => {
    const chunks = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 30 });
    fc.assert(
      fc.property(fc.nat({ max: 100 }), chunks, (keepBytes, written) => {
        const all = Buffer.concat(written);
        const taken = captureOf(keepBytes, written).taken();
        const cut = all.length > keepBytes;
        const headBytes = cut ? Math.ceil(keepBytes / 2) : all.length;
        const tailBytes = cut ? Math.floor(keepBytes / 2) : 0;
        expect(taken.totalBytes).toBe(all.length);
        expect(taken.head).toEqual(all.subarray(0, headBytes));
        expect(taken.tail).toEqual(all.subarray(all.length - tailBytes));
      }),
    );
  });

  it('has a piece from any offset while it grows, as it has at its end, and counts what is gone', () => {
    const chunks = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 30 });
    fc.assert(
      fc.property(fc.nat({ max: 100 }), chunks, fc.nat(1300), (keepBytes, written, from) => {
        const all = Buffer.concat(written);
        const capture = captureOf(keepBytes, written);
        const taken = capture.taken();
        const growing = read((offset) => capture.pieceAt(offset, 7), from, all);
        expect(growing).toEqual(read((offset) => pieceOf(taken, offset, 7), from, all));
        expect(growing.lost + growing.kept).toBe(Math.max(0, all.length - from));
        if (from === 0) expect(growing.kept).toBe(Math.min(keepBytes, all.length));
      }),
    );
  });
});

/** Reads to the end, and compares each piece with the stream. */
function read(pieceAt: (offset: number) => Piece | null, from: number, all: Buffer) {
  const seen = { kept: 0, lost: 0 };
  let at = from;
  for (let piece = pieceAt(at); piece !== null; piece = pieceAt(at)) {
    const length = 'lost' in piece ? piece.lost : piece.bytes.length;
    expect(length).toBeGreaterThan(0);
    if ('bytes' in piece) expect(piece.bytes).toEqual(all.subarray(at, at + length));
    seen['lost' in piece ? 'lost' : 'kept'] += length;
    at += length;
  }
  return seen;
}
