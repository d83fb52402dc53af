import { array, assert, integer, nat, oneof, property, string } from 'fast-check';
import { expect, test } from 'vitest';
import { encodedBytes, headWithin, tailWithin } from './encoded-text.ts';

/** Everything a string can hold, half characters included. */
const anyText = oneof(
  string({ unit: 'binary' }),
  array(integer({ min: 0, max: 0xff_ff }), { maxLength: 60 }).map((units) => String.fromCharCode(...units)),
);

const isPair = (text: string, end: number) => end >= 2 && (text.codePointAt(end - 2) ?? 0) > 0xff_ff;

test('a head is the longest beginning that fits', () => {
  assert(
    property(anyText, nat(80), (text, limit) => {
      const head = headWithin(text, limit);
      expect(text.startsWith(head)).toBe(true);
      expect(encodedBytes(head)).toBeLessThanOrEqual(limit);
      const next = String.fromCodePoint(text.codePointAt(head.length) ?? 0);
      if (head.length < text.length) expect(encodedBytes(head + next)).toBeGreaterThan(limit);
    }),
  );
});

test('a tail is the longest end that fits', () => {
  assert(
    property(anyText, nat(80), (text, limit) => {
      const tail = tailWithin(text, limit);
      expect(text.endsWith(tail)).toBe(true);
      expect(encodedBytes(tail)).toBeLessThanOrEqual(limit);
      const cut = text.length - tail.length;
      const last = text.slice(isPair(text, cut) ? cut - 2 : cut - 1, cut);
      if (cut > 0) expect(encodedBytes(last + tail)).toBeGreaterThan(limit);
    }),
  );
});

test('no character is split at either cut', () => {
  expect(headWithin('a😀b', 4)).toBe('a');
  expect(tailWithin('a😀b', 4)).toBe('b');
  expect(headWithin('a😀b', 5)).toBe('a😀');
});
