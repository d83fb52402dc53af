import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callId } from '#src/model/ids.ts';
import { LinkError } from '#src/ports/sandbox-link.ts';
import type {
  CallRequest,
  ExecAction,
  OutputStream,
  StreamLine,
  StreamOffsets,
} from '#src/protocol/sandboxd/wire.ts';
import { aBind, aShellCall, startSandboxd, type TestSandboxd, ofRollout } from '#test/support/sandboxd.ts';

/* A command that is followed while it runs: what it prints, from any offset, and what it is given on stdin, piece by piece. */

const mebibyte = 1024 * 1024;
const { signal } = new AbortController();
const start = { stdout: 0, stderr: 0 };

let sandboxd: TestSandboxd;
beforeAll(async () => {
  sandboxd = await startSandboxd();
  await sandboxd.link.bind(sandboxd.target, aBind(), signal);
});
afterAll(() => sandboxd.stop());

let calls = 0;

/** Starts it, and returns its id. */
async function begin(command: string, options: Partial<CallRequest & ExecAction> = {}): Promise<string> {
  const id = `followed-${(calls += 1)}`;
  const { outputBytes, ...rest } = options;
  const call = {
    ...aShellCall(command, { timeoutMs: 60_000, ...rest }),
    stream: true,
    binary: true,
  } as const;
  const kept = outputBytes === undefined ? call : { ...call, outputBytes };
  await sandboxd.link.call(sandboxd.target, callId(id), kept, 0, signal);
  return id;
}

const open = (id: string, from: StreamOffsets = start, until: AbortSignal = signal) =>
  sandboxd.link.stream(sandboxd.target, callId(id), from, until);
const answerOf = (id: string) => sandboxd.link.attach(sandboxd.target, callId(id), 60_000, signal);
const endOf = (asked: Promise<unknown>) =>
  asked.catch((error: unknown) => (error instanceof LinkError ? error.trouble : error));

/** Lines one by one, as a reader sees them. */
async function reader(id: string, from: StreamOffsets = start) {
  const stopping = new AbortController();
  const lines = (await open(id, from, stopping.signal))[Symbol.asyncIterator]();
  return {
    next: async () => {
      const { value } = (await lines.next()) as { readonly value: StreamLine };
      if ('base64' in value) return { ...value, text: Buffer.from(value.base64, 'base64').toString() };
      return value;
    },
    stop: () => stopping.abort(),
  };
}

type Read = { readonly bytes: Buffer; readonly at: number };

/** What a stream has, as pieces without a hole; what was lost is a number. */
async function readAll(id: string, stream: OutputStream, from: StreamOffsets = start) {
  const seen: (Read | number)[] = [];
  for await (const line of await open(id, from)) {
    if ('end' in line || line.stream !== stream) continue;
    if ('lost' in line) {
      seen.push(line.lost);
      continue;
    }
    const bytes = Buffer.from(line.base64, 'base64');
    const last = seen.at(-1);
    if (typeof last === 'object' && last.at + last.bytes.length === line.at)
      seen[seen.length - 1] = { at: last.at, bytes: Buffer.concat([last.bytes, bytes]) };
    else seen.push({ at: line.at, bytes });
  }
  return seen;
}

const give = (
  id: string,
  offset: number,
  bytes: Uint8Array | string,
  { isLast = false, waitMs = 60_000 } = {},
) =>
  sandboxd.link.stdin(
    sandboxd.target,
    callId(id),
    { offset, bytes: typeof bytes === 'string' ? Buffer.from(bytes) : bytes, isLast, waitMs },
    signal,
  );

describe('what a command prints', () => {
  it('comes while it runs, and goes on from any offset', async () => {
    const id = await begin('echo one; read more; echo "two $more"; echo err >&2', { openStdin: true });
    const first = await reader(id);
    expect(await first.next()).toMatchObject({ stream: 'stdout', at: 0, text: 'one\n' });
    first.stop();
    const resumed = await reader(id, { stdout: 2, stderr: 0 });
    expect(await resumed.next()).toMatchObject({ stream: 'stdout', at: 2, text: 'e\n' });
    await give(id, 0, 'things\n');
    const rest = [await resumed.next(), await resumed.next()];
    expect(rest).toContainEqual(expect.objectContaining({ stream: 'stdout', at: 4, text: 'two things\n' }));
    expect(rest).toContainEqual(expect.objectContaining({ stream: 'stderr', at: 0, text: 'err\n' }));
    expect(await resumed.next()).toEqual({ end: true });
    expect(await answerOf(id)).toMatchObject({ ending: { kind: 'exited', exitCode: 0 } });
  });

  it('is merged into one stream, in the order of writing', async () => {
    const id = await begin('for i in 1 2 3; do echo out$i; echo err$i >&2; done', { merge: true });
    const [merged] = await readAll(id, 'stdout');
    expect((merged as Read).bytes.toString()).toBe('out1\nerr1\nout2\nerr2\nout3\nerr3\n');
    expect(await readAll(id, 'stderr')).toEqual([]);
  });

  it('is followed by two readers alike, and by at most eight', async () => {
    const id = await begin('read line; echo "$line"', { openStdin: true });
    const readers = await Promise.all(Array.from({ length: 8 }, () => reader(id)));
    expect(await endOf(open(id))).toMatchObject({ kind: 'refused', status: 503, code: 'stream_busy' });
    readers.pop()?.stop();
    await expect.poll(() => endOf(reader(id).then((one) => one.stop()))).toBeUndefined();
    await give(id, 0, 'hello\n');
    for (const one of readers) {
      expect(await one.next()).toMatchObject({ text: 'hello\n' });
      expect(await one.next()).toEqual({ end: true });
    }
  });

  it('is reported as lost where a reader comes later than what is kept, never left out in silence', async () => {
    const id = await begin(`printf first; head -c ${50 * mebibyte} /dev/zero; printf last`, {
      keepBytes: 1000,
    });
    await answerOf(id);
    const total = 50 * mebibyte + 9;
    const [head, lost, tail] = await readAll(id, 'stdout');
    expect(head).toMatchObject({ at: 0, bytes: { length: 500 } });
    expect((head as Read).bytes.subarray(0, 5).toString()).toBe('first');
    expect(lost).toBe(total - 1000);
    expect(tail).toMatchObject({ at: total - 500, bytes: { length: 500 } });
    expect((tail as Read).bytes.subarray(-4).toString()).toBe('last');
    expect(await readAll(id, 'stdout', { stdout: 700, stderr: 0 })).toEqual([
      total - 500 - 700,
      expect.objectContaining({ at: total - 500 }),
    ]);
  });

  it('is whole for a reader that keeps up, also if it is more than an answer carries', async () => {
    const id = await begin(`head -c ${5 * mebibyte} /dev/urandom | tee copy; sha256sum < copy >&2`, {
      keepBytes: 1000,
      outputBytes: 10 * mebibyte,
    });
    const [all] = await readAll(id, 'stdout');
    const [sum] = await readAll(id, 'stderr');
    const digest = createHash('sha256')
      .update((all as Read).bytes)
      .digest('hex');
    expect((sum as Read).bytes.toString()).toBe(`${digest}  -\n`);
    // The same from where it is kept next to the answer, also when that is settled.
    sandboxd.link.settled(ofRollout(sandboxd.target), [callId(id)]);
    await sandboxd.link.attach(ofRollout(sandboxd.target), callId(id), 0, signal);
    const [again] = await readAll(id, 'stdout', { stdout: mebibyte, stderr: 0 });
    expect(Buffer.compare((again as Read).bytes, (all as Read).bytes.subarray(mebibyte))).toBe(0);
  });

  it('of a reader that does not read holds up nothing else', async () => {
    const id = await begin(`head -c ${200 * mebibyte} /dev/zero; echo done >&2`);
    const idle = await open(id);
    expect(await answerOf(id)).toMatchObject({ stdout: { totalBytes: 200 * mebibyte } });
    expect((await Array.fromAsync(idle)).at(-1)).toEqual({ end: true });
  });

  it.each([
    ['a missing program', { argv: ['no-such-program'] }, 'no-such-program'],
    ['a missing folder', { cwd: '/nowhere' }, ''],
  ])('ends at once for %s', async (_why, action, said) => {
    const id = await begin('true', action);
    const told = await readAll(id, 'stderr');
    expect(told.map((one) => (one as Read).bytes.toString()).join('')).toContain(said);
    expect(await answerOf(id)).toMatchObject({ callId: id });
  });

  it('ends when its call is cancelled, or its time is over', async () => {
    const canceled = await begin('echo begun; sleep 60');
    const one = await reader(canceled);
    expect(await one.next()).toMatchObject({ text: 'begun\n' });
    await sandboxd.link.cancel(sandboxd.target, callId(canceled), signal);
    expect(await one.next()).toEqual({ end: true });
    const late = await begin('echo begun; sleep 60', { timeoutMs: 300 });
    expect(await readAll(late, 'stdout')).toMatchObject([{ at: 0 }]);
    expect(await answerOf(late)).toMatchObject({ ending: { kind: 'timed_out' } });
  });

  it('cannot be followed if its call was not sent so', async () => {
    const plain = aShellCall('true');
    await sandboxd.link.call(sandboxd.target, callId('plain'), plain, 10_000, signal);
    expect(await endOf(open('plain'))).toMatchObject({ kind: 'refused', code: 'invalid_request' });
  });
});

describe('stdin in pieces', () => {
  it('reaches a command that answers each of them', async () => {
    const id = await begin('while read line; do echo "got $line"; done; echo bye', { openStdin: true });
    const lines = await reader(id);
    expect(await give(id, 0, 'one\n')).toEqual({ received: 4, open: true });
    expect(await lines.next()).toMatchObject({ text: 'got one\n' });
    // A repeat whose answer was lost: the command sees it once.
    expect(await give(id, 0, 'one\n')).toEqual({ received: 4, open: true });
    expect(await give(id, 2, 'e\ntwo\n', { isLast: true })).toMatchObject({ received: 8 });
    const rest = [];
    for (let line = await lines.next(); !('end' in line); line = await lines.next()) rest.push(line);
    expect(rest.map((line) => ('text' in line ? line.text : '')).join('')).toBe('got two\nbye\n');
  });

  it('follows what the command was started with', async () => {
    const id = await begin('cat', { stdin: 'first ', openStdin: true });
    await give(id, 0, 'second', { isLast: true });
    expect((await readAll(id, 'stdout'))[0]).toMatchObject({ bytes: Buffer.from('first second') });
  });

  it('waits for a command that does not read yet, within bounds, and arrives whole', async () => {
    const id = await begin('while [ ! -e go ]; do sleep 0.05; done; sha256sum', { openStdin: true });
    const bytes = randomBytes(8 * mebibyte);
    let received = 0;
    // Until there is no room: what a command does not read costs a bounded amount of memory.
    for (;;) {
      const piece = bytes.subarray(received, received + mebibyte);
      const reply = await give(id, received, piece, { waitMs: 0 });
      expect(reply.open).toBe(true);
      if (reply.received === received) break;
      ({ received } = reply);
    }
    expect(received).toBeGreaterThanOrEqual(mebibyte);
    expect(received).toBeLessThan(4 * mebibyte);
    const go = aShellCall('touch go');
    await sandboxd.link.call(sandboxd.target, callId('go'), go, 10_000, signal);
    while (received < bytes.length)
      ({ received } = await give(id, received, bytes.subarray(received, received + mebibyte)));
    await give(id, received, '', { isLast: true });
    const sum = createHash('sha256').update(bytes).digest('hex');
    expect((await readAll(id, 'stdout'))[0]).toMatchObject({ bytes: Buffer.from(`${sum}  -\n`) });
  });

  it.each([
    ['has closed it', 'exec 0<&-; echo closed; sleep 60'],
    ['has ended', 'true'],
  ])('is not open any more once the command %s, and that is not an error', async (_how, command) => {
    const id = await begin(command, { openStdin: true });
    let received = 0;
    let isOpen = true;
    while (isOpen) {
      const reply = await give(id, received, 'x\n', { waitMs: 100 });
      ({ received, open: isOpen } = reply);
    }
    expect(await give(id, received, 'more')).toMatchObject({ open: false });
    await sandboxd.link.cancel(sandboxd.target, callId(id), signal);
  });

  it('has no hole and nothing behind its end', async () => {
    const id = await begin('cat', { openStdin: true });
    expect(await endOf(give(id, 1, 'x'))).toMatchObject({ kind: 'refused', code: 'invalid_request' });
    for (const text of ['all', 'all', 'all and more'])
      expect(await give(id, 0, text, { isLast: true })).toEqual({ received: 3, open: false });
    expect((await readAll(id, 'stdout'))[0]).toMatchObject({ bytes: Buffer.from('all') });
    const plain = await begin('sleep 60');
    expect(await endOf(give(plain, 0, 'x'))).toMatchObject({ kind: 'refused', code: 'invalid_request' });
    await sandboxd.link.cancel(sandboxd.target, callId(plain), signal);
    expect(await endOf(give(plain, 0, new Uint8Array(mebibyte + 1)))).toMatchObject({
      kind: 'refused',
      code: 'payload_too_large',
    });
  });
});

it('a stream whose sandboxd is killed breaks off, and does not end', async () => {
  const id = await begin('echo begun; sleep 60');
  const one = await reader(id);
  expect(await one.next()).toMatchObject({ text: 'begun\n' });
  sandboxd.process.kill('SIGKILL');
  expect(await endOf(one.next())).toMatchObject({ kind: 'maybe_sent' });
});
