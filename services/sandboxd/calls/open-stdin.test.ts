import { PassThrough, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { OpenStdin } from './open-stdin.ts';
import { StdinRoom } from './stdin-room.ts';

const never = new AbortController().signal;
const mebibyte = 1024 * 1024;

function opened(room = new StdinRoom()) {
  const stdin = new OpenStdin(room);
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

/** A command that reads when `read` is called. */
function reader() {
  const reads: (() => void)[] = [];
  const pipe = new Writable({ write: (_chunk, _encoding, done) => void reads.push(done) });
  return { pipe, read: () => reads.shift()?.() };
}

test('commands that do not read share room, and each has some for itself', async () => {
  const room = new StdinRoom(2 * mebibyte);
  const calls = Array.from({ length: 6 }, () => opened(room));
  const taken: number[] = [];
  for (const { give } of calls) taken.push((await give(0, Buffer.alloc(mebibyte))).received);
  expect(taken).toEqual([mebibyte, mebibyte, 65_536, 65_536, 65_536, 65_536]);
});

test('a piece waits for room that another command takes, and the end of stdin waits with it', async () => {
  const room = new StdinRoom(mebibyte);
  const [full, other] = [opened(room), opened(room)];
  const { pipe, read } = reader();
  full.stdin.writeTo(pipe);
  await full.give(0, Buffer.alloc(mebibyte));
  const first = await other.give(0, Buffer.alloc(100_000), true);
  expect(first).toEqual({ received: 65_536, open: true });
  const rest = other.give(65_536, Buffer.alloc(100_000 - 65_536), true, 60_000);
  read();
  expect(await rest).toEqual({ received: 100_000, open: false });
});

test('a command that ends gives back what it has not read', async () => {
  const room = new StdinRoom(mebibyte);
  const [early, running] = [opened(room), opened(room)];
  const { pipe, read } = reader();
  running.stdin.writeTo(pipe);
  await running.give(0, Buffer.alloc(mebibyte / 2));
  await early.give(0, Buffer.alloc(mebibyte / 2));
  early.stdin.close();
  running.stdin.close();
  read();
  expect(room.freeBytes).toBe(mebibyte);
});
