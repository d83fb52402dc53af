import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Capture, decodeCapture } from './capture.ts';

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
});
