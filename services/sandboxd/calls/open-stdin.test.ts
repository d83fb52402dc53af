import { PassThrough, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { OpenStdin } from './open-stdin.ts';

const never = new AbortController().signal;
const mebibyte = 1024 * 1024;

function opened() {
  const stdin = new OpenStdin();
  const give = (offset: number, bytes: string | Buffer, isLast = false, waitMs = 0) =>
    stdin.take({ offset, bytes: Buffer.from(bytes), isLast }, waitMs, never);
  return { stdin, give };
}

test('what comes before the command runs reaches it first, and its end too', async () => {
  const { stdin, give } = opened();
  await give(0, 'one ');
  expect(await give(4, 'two', true)).toEqual({ received: 7, open: false });
  const pipe = new PassThrough();
  stdin.writeTo(pipe);
  expect(await text(pipe)).toBe('one two');
});

test('a request waits for room, and takes it when the command reads', async () => {
  const { stdin, give } = opened();
  const reads: (() => void)[] = [];
  stdin.writeTo(new Writable({ write: (_chunk, _encoding, done) => void reads.push(done) }));
  expect(await give(0, Buffer.alloc(mebibyte))).toEqual({ received: mebibyte, open: true });
  expect(await give(mebibyte, 'x')).toEqual({ received: mebibyte, open: true });
  const waiting = give(mebibyte, 'x', false, 60_000);
  reads.shift()?.();
  expect(await waiting).toEqual({ received: mebibyte + 1, open: true });
});

test('a request that waits leaves with the command, and with its client', async () => {
  const { stdin, give } = opened();
  await give(0, Buffer.alloc(mebibyte));
  const leaving = new AbortController();
  const piece = { offset: mebibyte, bytes: Buffer.from('x'), isLast: false };
  const left = stdin.take(piece, 60_000, leaving.signal);
  const waiting = give(mebibyte, 'x', false, 60_000);
  leaving.abort();
  expect(await left).toEqual({ received: mebibyte, open: true });
  expect(await stdin.take(piece, 600_000, leaving.signal)).toEqual({ received: mebibyte, open: true });
  stdin.close();
  expect(await waiting).toEqual({ received: mebibyte, open: false });
});

test('a pipe that breaks is a command that has closed it', async () => {
  const { stdin, give } = opened();
  const pipe = new Writable({ write: (_chunk, _encoding, done) => done(new Error('EPIPE')) });
  pipe.on('error', () => undefined);
  stdin.writeTo(pipe);
  await give(0, 'x');
  expect(await give(1, 'y')).toMatchObject({ open: false });
});
