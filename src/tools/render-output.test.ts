import { assert, constantFrom, integer, nat, oneof, property, string, tuple, array } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { aCutStream, anAnswer, aStream } from '#test/builders/call-answer.ts';
import { fakeEnvironment } from '#test/fakes/environment.ts';
import type { CallAnswer } from '../protocol/sandboxd/wire.ts';
import { encodedBytes, maxOutputBytes, renderOutput, headWithin, tailWithin } from './render-output.ts';

const { texts } = fakeEnvironment();

const textOf = (answer: CallAnswer, outputBytes = 65_536) => renderOutput(answer, texts, outputBytes).text;

describe('what the model reads', () => {
  test.each<[string, CallAnswer, string]>([
    ['a clean exit with output is the output alone', anAnswer({ stdout: aStream('hi\n') }), 'hi\n'],
    ['a clean exit without output says so', anAnswer(), '[exit code 0]'],
    [
      'stderr follows stdout on a line of its own, then the exit code',
      anAnswer({
        stdout: aStream('out'),
        stderr: aStream('err'),
        ending: { kind: 'exited', exitCode: 2 },
      }),
      'out\nerr\n[exit code 2]',
    ],
    [
      'a signal is named',
      anAnswer({ ending: { kind: 'signalled', signal: 'SIGSEGV' } }),
      '[killed by SIGSEGV]',
    ],
    [
      'a command killed for memory says so, also where its shell went on',
      anAnswer({ stdout: aStream('x'), evidence: { outOfMemoryKills: 1 } }),
      'x\nError: out of memory',
    ],
    [
      'a program that could not be started has no exit code',
      anAnswer({ ending: { kind: 'not_started', errno: 'ENOENT', message: 'no such program' } }),
      'Error: no such program',
    ],
  ])('%s', (_what, answer, text) => {
    expect(textOf(answer)).toBe(text);
  });

  test('partial output of a command that ran out of time comes before the time it had', () => {
    const answer = anAnswer({ stdout: aStream('so far\n'), ending: { kind: 'timed_out', timeoutMs: 1500 } });
    expect(textOf(answer)).toBe('so far\n[timed out after 1.5 s]');
  });
});

describe('what does not fit', () => {
  test('bytes that sandboxd dropped are named where they are missing', () => {
    const answer = anAnswer({ stdout: aCutStream('first', 'last', 1_000_000) });
    expect(renderOutput(answer, texts, 65_536)).toEqual({
      text: 'first\n[1000000 bytes cut]\nlast',
      truncated: { stdout: true, stderr: false },
      totalBytes: 1_000_009,
      cutBytes: 1_000_000,
    });
  });

  test('head and tail are kept and the bytes between are counted exactly', () => {
    const numbers = Array.from({ length: 2000 }, (_each, index) => `line ${index}`).join('\n');
    const { text, cutBytes } = renderOutput(anAnswer({ stdout: aStream(numbers) }), texts, 1024);
    const [head = '', tail = ''] = text.split(/\n?\[\d+ bytes cut\]\n/);
    expect(numbers.startsWith(head)).toBe(true);
    expect(numbers.endsWith(tail)).toBe(true);
    expect(text).toContain(`[${cutBytes} bytes cut]`);
    // The line end before the mark is the output's own or ours.
    expect(cutBytes).toBeGreaterThanOrEqual(numbers.length - head.length - tail.length - 1);
    expect(cutBytes).toBeLessThanOrEqual(numbers.length - head.length - tail.length);
  });

  test('a flood on stdout leaves room for what stderr says', () => {
    const answer = anAnswer({ stdout: aStream('x'.repeat(100_000)), stderr: aStream('the reason') });
    expect(textOf(answer, 2048)).toContain('\nthe reason');
  });

  test('a flood on stderr leaves room for what stdout says', () => {
    const answer = anAnswer({ stdout: aStream('the result\n'), stderr: aStream('x'.repeat(100_000)) });
    expect(textOf(answer, 2048).startsWith('the result\n')).toBe(true);
  });

  test('no environment can ask for more than a body may carry', () => {
    const answer = anAnswer({ stdout: aStream('\u0000'.repeat(1_000_000)) });
    expect(encodedBytes(textOf(answer, 10 ** 9))).toBeLessThanOrEqual(maxOutputBytes);
  });
});

const anyStream = oneof(
  string({ unit: 'binary', maxLength: 400 }).map(aStream),
  tuple(string({ unit: 'binary', maxLength: 200 }), string({ maxLength: 200 }), nat(10 ** 9)).map(
    ([head, tail, cut]) => aCutStream(head, tail, cut + 1),
  ),
);

const anyEnding = constantFrom<CallAnswer['ending']>(
  { kind: 'exited', exitCode: 0 },
  { kind: 'exited', exitCode: 137 },
  { kind: 'timed_out', timeoutMs: 60_000 },
  { kind: 'not_started', errno: 'E2BIG', message: 'the arguments are too long for this system'.repeat(9) },
);

test('whatever a command prints, the encoded output keeps the limit and every byte is shown or counted', () => {
  assert(
    property(
      anyStream,
      anyStream,
      anyEnding,
      integer({ min: 300, max: 3000 }),
      (stdout, stderr, ending, limit) => {
        const { text, cutBytes, totalBytes } = renderOutput(
          anAnswer({ stdout, stderr, ending }),
          texts,
          limit,
        );
        expect(encodedBytes(text)).toBeLessThanOrEqual(limit);
        expect(text.isWellFormed() || !(stdout.head + stderr.head).isWellFormed()).toBe(true);
        expect(cutBytes).toBeLessThanOrEqual(totalBytes);
        if (limit < 1000) return;
        // Notes and marks fit beside output here, so what is shown is all that was not cut.
        expect(Buffer.byteLength(text)).toBeGreaterThanOrEqual(totalBytes - cutBytes);
      },
    ),
  );
});

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
