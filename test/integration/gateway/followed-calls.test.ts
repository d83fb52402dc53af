import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Failure } from '#src/failure/failure.ts';
import { aCallResult } from '#test/fakes/gateway-core.ts';
import { type GatewayUnderTest, startGateway } from './gateway-under-test.ts';

/* A call as it happens, on the native face: server-sent events out, stdin in. */

let gateway: GatewayUnderTest;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.stop(1_000));
beforeEach(() => {
  gateway.core.calls.length = 0;
  gateway.core.failure = null;
  gateway.core.followed = [];
});

const path = '/v1/rollouts/trace_1/calls/c1';
const ask = (address: string, options: RequestInit = {}) => {
  const { 'content-type': _, ...key } = gateway.headersOf('native');
  const headers = { ...key, ...(options.headers as Record<string, string> | undefined) };
  return fetch(`${gateway.url}${address}`, { ...options, headers });
};

/** The events of a body, without pings. */
const eventsIn = (text: string) =>
  text
    .split('\n\n')
    .filter((event) => event !== '' && !event.startsWith(':'))
    .map((event) => {
      const field = (name: string) =>
        event
          .split('\n')
          .find((line) => line.startsWith(`${name}: `))
          ?.slice(name.length + 2) ?? '';
      return { id: field('id'), event: field('event'), data: JSON.parse(field('data')) as unknown };
    });

const output = (stream: 'stdout' | 'stderr', at: number, text: string) =>
  ({ kind: 'output', stream, at, base64: Buffer.from(text).toString('base64') }) as const;

const late = new Failure('still_running', 'the time is up', { admitted: 'unknown' });
const runsOn = { state: 'running', rollout_id: 'trace_1', call_id: 'c1' };

const begun = () => gateway.core.calls.map(({ method, args }) => [method, args[1]]);

describe('a terminal', () => {
  const terminals = '/v1/rollouts/trace_1';
  const follow = (number: string, body: object) =>
    ask(`${terminals}/terminals/${number}/follow?attempt=2&wait_s=20`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });

  it('is followed by a call of its own, for an hour unless it says otherwise', async () => {
    const rollout = { rollout: 'trace_1', attempt: 2 };
    const asked = { rollout, argv: [], terminal: 3, stream: true, waitMs: 20_000 };
    const answer = await follow('3', { call_id: 'f1' });
    expect([answer.status, await answer.json()]).toEqual([
      202,
      { state: 'running', rollout_id: 'trace_1', call_id: 'f1', sent: true },
    ]);
    await follow('3', { call_id: 'f2', timeout_s: 5 });
    expect(begun()).toEqual([
      ['begin', { ...asked, call: 'f1', timeoutMs: 3_600_000 }],
      ['begin', { ...asked, call: 'f2', timeoutMs: 5_000 }],
    ]);
  });

  it.each([
    ['0', { call_id: 'f' }],
    ['one', { call_id: 'f' }],
    ['1', {}],
    ['1', { call_id: 'f', command: 'true' }],
    ['1', { call_id: 'f', timeout_s: 3_601 }],
  ])('%s with %j is refused', async (number, body) => {
    expect((await follow(number, body)).status).toBe(400);
    expect(begun()).toEqual([]);
  });

  it('is shown, the one that was opened last without a number', async () => {
    for (const query of ['', '?attempt=2&terminal=3'])
      expect(await (await ask(`${terminals}/screen${query}`)).json()).toEqual({
        screen: '[terminal 1: running]\n',
        reason: null,
      });
    expect((await ask(`${terminals}/screen?terminal=x`)).status).toBe(400);
    expect(gateway.core.calls.map(({ args }) => args.slice(1))).toEqual([
      [{ rollout: 'trace_1', attempt: null }, null],
      [{ rollout: 'trace_1', attempt: 2 }, 3],
    ]);
  });
});

describe('a followed call', () => {
  it('is a stream of events, each with the offset to go on from, and ends with its result', async () => {
    const result = aCallResult({ exitCode: 3, base64: { stdout: 'AAAA', stderr: '' } });
    gateway.core.followed = [
      output('stdout', 5, 'abc'),
      output('stderr', 2, 'e'),
      { kind: 'gap', stream: 'stdout', at: 8, bytes: 100 },
      { kind: 'end', result },
    ];
    const answer = await ask(`${path}/stream?offset=5-2&wait_s=20`);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    expect(eventsIn(await answer.text())).toEqual([
      { id: '8-2', event: 'output', data: { stream: 'stdout', at: 5, base64: 'YWJj' } },
      { id: '8-3', event: 'output', data: { stream: 'stderr', at: 2, base64: 'ZQ==' } },
      { id: '108-3', event: 'gap', data: { stream: 'stdout', at: 8, bytes: 100 } },
      {
        id: '108-3',
        event: 'end',
        data: expect.objectContaining({ exit_code: 3, stdout: '', output: 'hello\n' }),
      },
    ]);
    const asked = gateway.core.calls[0]?.args;
    expect(asked?.slice(1, 3)).toEqual([{ rollout: 'trace_1', attempt: null }, 'c1']);
    expect(asked?.[3]).toMatchObject({ from: { stdout: 5, stderr: 2 }, waitMs: 20_000 });
  });

  it('goes on from the header of an event source, and from the beginning without one', async () => {
    await ask(`${path}/stream`, { headers: { 'last-event-id': '7-1' } });
    await ask(`${path}/stream`);
    expect(gateway.core.calls.map(({ args }) => args[3])).toMatchObject([
      { from: { stdout: 7, stderr: 1 } },
      { from: { stdout: 0, stderr: 0 } },
    ]);
    for (const wrong of ['?offset=5', '?offset=-1-0', '?offset=1e3-0'])
      expect((await ask(`${path}/stream${wrong}`)).status).toBe(400);
    expect((await ask(`${path}/stream`, { headers: { 'last-event-id': 'x' } })).status).toBe(400);
  });

  it('ends with the failure as its body has it, also one that says to come again', async () => {
    const lost = new Failure('sandbox_lost', 'it is gone', { admitted: 'yes' });
    gateway.core.followed = [output('stdout', 0, 'abc'), lost];
    const [, last] = eventsIn(await (await ask(`${path}/stream`)).text());
    expect(last).toMatchObject({
      id: '3-0',
      event: 'error',
      data: { error: { code: 'sandbox_lost', tainted: true, rollout_id: 'trace_1', call_id: 'c1' } },
    });
    gateway.core.followed = [new Failure('still_running', 'it goes on', { admitted: 'yes' })];
    const [over] = eventsIn(await (await ask(`${path}/stream`)).text());
    expect(over).toMatchObject({
      event: 'error',
      data: { error: { code: 'still_running', retryable: true } },
    });
  });

  it('that cannot be followed at all is a status', async () => {
    gateway.core.failure = new Failure('unknown_call', 'the rollout has no such call');
    const answer = await ask(`${path}/stream`);
    expect([answer.status, await answer.json()]).toMatchObject([404, { error: { code: 'unknown_call' } }]);
    gateway.core.failure = late;
    const again = await ask(`${path}/stream`);
    expect([again.status, await again.json()]).toEqual([202, runsOn]);
  });

  it('ends when its reader leaves', async () => {
    let left = false;
    const silent = new Promise<never>(() => undefined);
    gateway.core.follow = async (_caller, _rollout, _call, { gone }) => {
      gone.addEventListener('abort', () => (left = true));
      return (async function* () {
        yield output('stdout', 0, 'abc');
        await silent;
      })();
    };
    const leaving = new AbortController();
    const answer = await ask(`${path}/stream`, { signal: leaving.signal });
    await answer.body?.getReader().read();
    leaving.abort();
    await expect.poll(() => left).toBe(true);
  });
});

const exec = (body: object) =>
  ask('/v1/rollouts/trace_1/exec', {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  });
const give = (query: string, bytes: Uint8Array<ArrayBuffer> | null) =>
  ask(`${path}/stdin${query}`, { method: 'POST', body: bytes });

describe('a command that streams', () => {
  it('is answered once it was sent, and its result is read elsewhere', async () => {
    const body = { call_id: 'c1', command: 'make', stream: true, open_stdin: true };
    const answer = await exec(body);
    expect([answer.status, await answer.json()]).toEqual([
      202,
      { state: 'running', rollout_id: 'trace_1', call_id: 'c1', sent: true },
    ]);
    expect(gateway.core.calls).toMatchObject([{ method: 'begin' }]);
    expect(gateway.core.calls[0]?.args[1]).toMatchObject({ stream: true, openStdin: true });
    expect((await exec({ ...body, stream: false })).status).toBe(400);
    expect((await exec({ ...body, setup: true })).status).toBe(400);
  });

  it('does not say that it was sent, or given stdin, if the time of the request was over before', async () => {
    gateway.core.failure = late;
    const answers = [
      await exec({ call_id: 'c1', command: 'make', stream: true }),
      await give('?offset=0', Uint8Array.of(1)),
    ];
    for (const answer of answers) expect([answer.status, await answer.json()]).toEqual([202, runsOn]);
  });

  it('takes its stdin as bytes at an offset', async () => {
    const answer = await give('?offset=4&end=true&wait_s=7', Uint8Array.of(0, 255));
    expect([answer.status, await answer.json()]).toEqual([200, { received: 6, open: true }]);
    const [, rollout, call, piece, waitMs] = gateway.core.calls[0]?.args ?? [];
    expect([rollout, call, waitMs]).toEqual([{ rollout: 'trace_1', attempt: null }, 'c1', 7_000]);
    expect(piece).toEqual({ offset: 4, bytes: Buffer.from([0, 255]), isLast: true });
    // Nothing but the end.
    expect(await (await give('?offset=6&end=true', null)).json()).toEqual({ received: 6, open: true });
    for (const wrong of ['', '?offset=x', '?offset=1&end=yes'])
      expect((await give(wrong, null)).status).toBe(400);
    const large = await give('?offset=0', new Uint8Array(1024 * 1024 + 1));
    expect([large.status, await large.json()]).toMatchObject([413, { error: { code: 'payload_too_large' } }]);
  });
});

it('a gateway that stops ends its streams by breaking them off, which is not an end, and answers the others', async () => {
  const stopping = await startGateway();
  const headers = stopping.headersOf('native');
  stopping.core.follow = async (_caller, _rollout, _call, { gone }) =>
    (async function* () {
      yield output('stdout', 0, 'abc');
      await new Promise((resolve) => gone.addEventListener('abort', resolve));
    })();
  const { 'content-type': _, ...key } = headers;
  const followed = await fetch(`${stopping.url}${path}/stream`, { headers: key });
  const reading = followed.text().then(
    (text) => text,
    () => 'broken off',
  );
  stopping.core.gate = new Promise(() => undefined);
  const held = fetch(`${stopping.url}${path}`, { headers: key });
  await expect.poll(() => stopping.core.calls.length).toBe(1);
  await stopping.stop(0);
  expect((await held).status).toBe(503);
  expect(await reading).toBe('broken off');
});
