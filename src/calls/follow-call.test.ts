import { expect, test } from 'vitest';
import { createFakeClock, settled } from '#test/fakes/clock.ts';
import { aCallResult } from '#test/fakes/gateway-core.ts';
import { createFakeRandom } from '#test/fakes/random.ts';
import { fakeRollout } from '#test/fakes/rollout-record.ts';
import { targetOf } from '../claiming/target.ts';
import { Failure, sandboxdUnreachable } from '../failure/failure.ts';
import { callId } from '../model/ids.ts';
import { LinkError, type LinkTrouble } from '../ports/sandbox-link.ts';
import type { StreamLine, StreamOffsets } from '../protocol/sandboxd/wire.ts';
import { FollowBudget } from './follow-budget.ts';
import { followCall, type Progress } from './follow-call.ts';
import type { OpenOutput } from './rest-of-output.ts';
import type { CallResult } from './work.ts';

type Said = StreamLine | LinkTrouble | 'silence';

const piece = (at: number, text: string): StreamLine => ({
  stream: 'stdout',
  at,
  base64: Buffer.from(text).toString('base64'),
});
const broken: LinkTrouble = { kind: 'maybe_sent', detail: 'reset' };
const nothingElsewhere: OpenOutput = () => Promise.reject(new Error('nothing is elsewhere'));
const refused = (code: string): LinkTrouble => ({ kind: 'refused', status: 400, code, message: 'no' });
const printed = (text: string): CallResult =>
  aCallResult({
    stdout: '',
    base64: { stdout: Buffer.from(text).toString('base64'), stderr: '' },
    totals: { stdout: text.length, stderr: 0 },
  });

const followed = (...connections: readonly (readonly Said[])[]) => followedWith(connections);

/** A sandbox that says these, connection by connection, and a call whose result the test gives. */
function followedWith(connections: readonly (readonly Said[])[], open: OpenOutput = nothingElsewhere) {
  const clock = createFakeClock();
  const asked: StreamOffsets[] = [];
  const left = [...connections];
  const link = {
    stream: async (_target: unknown, _call: unknown, from: StreamOffsets, signal: AbortSignal) => {
      asked.push(from);
      return says(left.shift() ?? ['silence'], signal);
    },
  };
  const result = Promise.withResolvers<CallResult>();
  result.promise.catch(() => undefined);
  const gone = new AbortController();
  const progress = followCall(
    { clock, random: createFakeRandom(), link, followBudget: new FollowBudget(clock) },
    {
      target: targetOf(fakeRollout()),
      tenant: fakeRollout().owner.tenant,
      call: callId('c1'),
      from: { stdout: 0, stderr: 0 },
      result: result.promise,
      open,
    },
    gone.signal,
  );
  return { clock, asked, result, gone, progress };
}

async function* says(lines: readonly Said[], signal: AbortSignal): AsyncIterable<StreamLine> {
  for (const line of lines) {
    if (line === 'silence' && !signal.aborted)
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    if (line === 'silence' || 'kind' in line) throw new LinkError(line === 'silence' ? broken : line);
    yield line;
  }
}

async function rest(progress: AsyncIterable<Progress>): Promise<readonly (string | number)[]> {
  const seen: (string | number)[] = [];
  for await (const each of progress) {
    if (each.kind === 'output') seen.push(Buffer.from(each.base64, 'base64').toString());
    if (each.kind === 'gap') seen.push(each.bytes);
    if (each.kind === 'end') seen.push('end');
  }
  return seen;
}

test('what the sandbox prints comes as it prints it, before there is a result', async () => {
  const { progress, result } = followed([piece(0, 'one'), 'silence']);
  expect(await progress.next()).toMatchObject({ value: { kind: 'output', at: 0 } });
  result.resolve(printed('one'));
  expect(await rest(progress)).toEqual(['end']);
});

test('a connection that breaks goes on where it broke', async () => {
  const { progress, result, asked, clock } = followed(
    [piece(0, 'one'), broken],
    [broken],
    [{ stream: 'stdout', at: 3, lost: 4 }, piece(7, 'two'), { end: true }],
  );
  const all = rest(progress);
  await settled();
  await clock.advance(1_000);
  result.resolve(printed('one....two'));
  expect(await all).toEqual(['one', 4, 'two', 'end']);
  expect(asked.map(({ stdout }) => stdout)).toEqual([0, 3, 3]);
});

test('a sandbox that cannot be heard holds nothing up: the rest comes from the result', async () => {
  const { progress, result } = followed([piece(0, 'one'), 'silence']);
  const all = rest(progress);
  await settled();
  result.resolve(printed('one and two'));
  expect(await all).toEqual(['one', ' and two', 'end']);
});

test.each([
  ['a sandbox of before', [refused('not_found')]],
  ['a call that does not stream', [refused('invalid_request')]],
  ['a sandbox of another rollout', [refused('bound_elsewhere')]],
  ['a piece at a wrong place', [piece(5, 'forged')]],
  ['an end before the end', [{ end: true }]],
] as const)('%s decides nothing, the result does', async (_name, said) => {
  const { progress, result } = followed([...said]);
  const all = rest(progress);
  await settled();
  result.resolve(printed('all'));
  expect(await all).toEqual(['all', 'end']);
});

const large = (at: number, bytes: number): StreamLine => ({
  stream: 'stdout',
  at,
  base64: Buffer.alloc(bytes).toString('base64'),
});

test('a command that prints without end is read at 4 MiB a second, so that gateways stay free for others', async () => {
  const pieces = Array.from({ length: 64 }, (_, index) => large(index * 65_536, 65_536));
  const { progress, clock } = followed([...pieces, 'silence']);
  let bytes = 0;
  void (async () => {
    for await (const each of progress) if (each.kind === 'output') bytes = each.at + 65_536;
  })();
  for (let turns = 0; turns < 70; turns += 1) await clock.advance(0);
  expect(bytes).toBeLessThan(1.2 * 1024 * 1024);
  await clock.advance(500);
  expect(bytes).toBeLessThan(3.3 * 1024 * 1024);
  await clock.advance(1_000);
  expect(bytes).toBe(4 * 1024 * 1024);
});

test('a command that prints byte by byte is not as many events as bytes', async () => {
  const pieces = Array.from({ length: 4_000 }, (_, at) => piece(at, 'x'));
  const { progress, clock } = followed([...pieces, 'silence']);
  let events = 0;
  void (async () => {
    for await (const _ of progress) events += 1;
  })();
  await clock.advance(1_000);
  expect(events).toBeGreaterThan(1_000);
  expect(events).toBeLessThan(1_400);
});

test('beyond 256 MiB a command is no longer followed: the end of its output comes from the result', async () => {
  const most = 256 * 1024 * 1024;
  const { progress, result, asked } = followed(
    [piece(0, 'one'), { stream: 'stdout', at: 3, lost: most }, piece(most + 3, 'two')],
    [piece(most + 3, 'two')],
  );
  const all = rest(progress);
  await settled();
  const tail = Buffer.from('last').toString('base64');
  result.resolve({
    ...printed(''),
    base64: { stdout: tail, stderr: '' },
    totals: { stdout: most + 20, stderr: 0 },
  });
  expect(await all).toEqual(['one', most, 15, 'st', 'end']);
  expect(asked).toHaveLength(1);
});

test('a connection that brings a little and breaks, again and again, is made ten times a second at most', async () => {
  const { progress, clock, asked } = followed(
    ...Array.from({ length: 1_000 }, (_, at) => [piece(at, 'x'), broken] as const),
  );
  const reading = rest(progress);
  reading.catch(() => undefined);
  await clock.advance(5_000);
  expect(asked.length).toBeGreaterThan(20);
  expect(asked.length).toBeLessThan(52);
});

const breaksOff: OpenOutput = async () =>
  (async function* () {
    yield Buffer.from('kept ');
    throw sandboxdUnreachable('it broke off', { admitted: 'yes' });
  })();

test('kept output that breaks off is a failure that may pass, and the reader has what came before', async () => {
  const { progress, result } = followedWith([[{ end: true }]], breaksOff);
  result.resolve({ ...printed('kept output'), kept: { stdout: 11, stderr: 0 } });
  expect(await progress.next()).toMatchObject({ value: { kind: 'output', at: 0 } });
  await expect(rest(progress)).rejects.toMatchObject({ code: 'sandboxd_unreachable', retry: 'yes' });
});

test('a sandbox that does not have the call yet is asked again', async () => {
  const { progress, result, clock, asked } = followed(
    [refused('unknown_call')],
    [refused('stream_busy')],
    [piece(0, 'one'), { end: true }],
  );
  const all = rest(progress);
  for (let tries = 0; tries < 3; tries += 1) await clock.advance(2_000);
  expect(asked).toHaveLength(3);
  result.resolve(printed('one'));
  expect(await all).toEqual(['one', 'end']);
});

test('a call that is lost is the failure that attaching to it gives', async () => {
  const { progress, result } = followed([piece(0, 'one'), 'silence']);
  expect(await progress.next()).toMatchObject({ value: { kind: 'output' } });
  const lost = new Failure('sandbox_lost', 'it is gone');
  result.reject(lost);
  await expect(rest(progress)).rejects.toBe(lost);
});

test('a reader that leaves ends the listening and not the call', async () => {
  const { progress, gone } = followed([piece(0, 'one'), 'silence']);
  expect(await progress.next()).toMatchObject({ value: { kind: 'output' } });
  const next = progress.next();
  gone.abort();
  expect(await next).toMatchObject({ done: true });
});
