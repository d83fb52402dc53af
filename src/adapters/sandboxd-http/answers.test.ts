import { expect, test } from 'vitest';
import { streamPieceBytes } from '#src/protocol/sandboxd/wire.ts';
import { callAnswer, refusalOf, stdinReply, streamLine } from './answers.ts';

/* What a command that runs as root may write in sandboxd's place. */

const base64 = (bytes: number) => Buffer.alloc(bytes).toString('base64');
const output = (at: unknown, piece: unknown) => ({ stream: 'stdout', at, base64: piece });
const gap = (at: unknown, lost: unknown) => ({ stream: 'stderr', at, lost });
const longest = 999_999_999_999_999;

test.each([
  output(0, base64(1)),
  output(longest - 3, base64(3)),
  output(7, base64(streamPieceBytes)),
  gap(0, 1),
  gap(1, longest - 1),
])('a line of sandboxd is read as it is: %#', (line) => {
  expect(streamLine(JSON.stringify(line))).toEqual(line);
});

test.each([
  ['no JSON', 'what'],
  ['null', 'null'],
  ['an end that is false', { end: false }],
  ['another stream', { ...output(0, base64(1)), stream: 'stdin' }],
  ['an offset of 16 digits', output(longest + 1, base64(1))],
  ['a piece up to an offset of 16 digits', output(longest, base64(1))],
  ['a gap up to an offset of 16 digits', gap(0, 9_007_199_254_740_991)],
  ['a gap beyond it', gap(2, longest - 1)],
  ['a gap of nothing', gap(0, 0)],
  ['a gap that goes back', gap(5, -1)],
  ['half a byte', gap(0.5, 1)],
  ['an offset that is a text', output('0', base64(1))],
  ['nothing at all', output(0, '')],
  ['base64 without its padding', output(0, 'A')],
  ['padding alone', output(0, '====')],
  ['base64 that goes on after its padding', output(0, 'AA==AAAA')],
  ['what is not base64', output(0, 'A*AA')],
  ['more than a piece', output(0, base64(streamPieceBytes + 1))],
  ['neither bytes nor a gap', { stream: 'stdout', at: 0 }],
])('a line with %s ends the stream, and the result has the last word', (_what, line) => {
  expect(streamLine(typeof line === 'string' ? line : JSON.stringify(line))).toEqual({ end: true });
});

const piece = { offset: 10, bytes: Buffer.alloc(5) };

test.each([
  [
    { received: 12, open: true },
    { received: 12, open: true },
  ],
  [
    { received: 15, open: false },
    { received: 15, open: false },
  ],
  [
    { received: 99, open: true },
    { received: 15, open: true },
  ],
  [
    { received: -5, open: true },
    { received: 10, open: true },
  ],
])('a reply of stdin, %j, is within what was sent', (reply, read) => {
  expect(stdinReply(reply, piece)).toEqual(read);
});

test.each([
  { received: 1e300, open: true },
  { received: 1.5, open: true },
  { received: '12', open: true },
  { received: 12, open: 'yes' },
  {},
  null,
])('a reply of stdin that sandboxd never gives, %j, takes nothing more', (reply) => {
  expect(stdinReply(reply, piece)).toEqual({ received: 10, open: false });
});

const refused = (error: unknown) => refusalOf(422, JSON.stringify({ error })).trouble;

test('a malformed refusal becomes code `unknown`', () => {
  const kind = { kind: 'refused', status: 422 };
  const known = { code: 'file_error', message: 'no such file', errno: 'ENOENT' };
  expect(refused(known)).toEqual({ ...kind, ...known });
  for (const odd of [
    { code: 7, message: 'x' },
    { code: 'file_error', message: 5 },
    { ...known, errno: {} },
    null,
  ])
    expect(refused(odd)).toEqual({ ...kind, code: 'unknown', message: 'status 422' });
  expect(refused({ ...known, message: 'x'.repeat(1_000_000) })).toMatchObject({ message: 'x'.repeat(2_000) });
});

const captured = { head: 'hello', tail: '', totalBytes: 5, cutBytes: 0 };
const answer = {
  callId: 'c',
  ending: { kind: 'exited', exitCode: 0 },
  stdout: captured,
  stderr: captured,
  base64: { stdout: { head: 'aGVsbG8=', tail: '' }, stderr: { head: '', tail: '' } },
  evidence: { durationMs: 1, outOfMemoryKills: null, escapedProcesses: 0, backgroundProcesses: 0 },
  kept: { stdout: 5, stderr: 0 },
};

test('an answer of sandboxd is read as it is', () => {
  expect(callAnswer(answer)).toEqual(answer);
});

test.each([
  { ending: { kind: 'exited', exitCode: 1.5 } },
  { ending: { kind: 'exited', exitCode: 'zero' } },
  { ending: { kind: 'signalled', signal: 9 } },
  { ending: { kind: 'gone' } },
  { stdout: { ...captured, totalBytes: 1e300 } },
  { stdout: { ...captured, totalBytes: -1 } },
  { stdout: { ...captured, head: null } },
  { base64: { ...answer.base64, stdout: { head: 'A', tail: '' } } },
  { base64: { ...answer.base64, stdout: { head: '', tail: 'A===' } } },
  { evidence: { ...answer.evidence, durationMs: 'long' } },
  { kept: { stdout: 1e12, stderr: 0 } },
])('an answer with %j is not an answer: a repeat may get one', (part) => {
  expect(() => callAnswer({ ...answer, ...part })).toThrow(
    expect.objectContaining({ trouble: expect.objectContaining({ kind: 'maybe_sent' }) as object }),
  );
});
