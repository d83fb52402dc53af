import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { createFakeClock, type FakeClock } from '#test/fakes/clock.ts';
import { createFakeRandom } from '#test/fakes/random.ts';
import type { Failure } from '#src/failure/failure.ts';
import { type JudgeRequest, remainingHeader } from '#src/ports/judge.ts';
import { createHttpJudge } from './http-judge.ts';

type Answer = (response: ServerResponse) => void;

const control = ['{"item":"harmless"}'];

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

const scored = (text: string, status = 200): Answer => {
  return (response) => response.writeHead(status, { 'content-type': 'application/json' }).end(text);
};

const limited = (retryAfter: string): Answer => {
  return (response) => response.writeHead(429, { 'retry-after': retryAfter }).end();
};

/** A judge that gives these answers in turn, the last one for ever after. */
async function aJudge(...answers: Answer[]) {
  const bodies: string[] = [];
  const requests: {
    readonly body: string;
    readonly length: string | undefined;
    readonly remaining: number;
  }[] = [];
  let mostBytes = Infinity;
  const server = createServer((request, response) => {
    if (Number(request.headers['content-length']) > mostBytes) {
      response.writeHead(413, { connection: 'close' }).end('too large');
      return;
    }
    request.setEncoding('utf8');
    let body = '';
    request.on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      bodies.push(body);
      const remaining = Number(request.headers[remainingHeader]);
      requests.push({ body, length: request.headers['content-length'], remaining });
      answers[Math.min(bodies.length, answers.length) - 1]?.(response);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  closers.push(
    () => server.close(),
    () => server.closeAllConnections(),
  );
  const clock = createFakeClock();
  const judge = createHttpJudge({ clock, random: createFakeRandom([0.5]) });
  closers.push(() => judge.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/score`;
  const ask = (given: Partial<JudgeRequest> = {}, signal = new AbortController().signal, withinMs?: number) =>
    judge.score(
      { url, headers: {}, body: ['{"item":1}'], control, timeoutMs: 1000, retries: 2, ...given },
      signal,
      withinMs,
    );
  const refuseUnread = (above: number) => (mostBytes = above);
  return { ask, bodies, requests, refuseUnread, clock };
}

/** Lets time pass, a little of it at a time, until the promise is settled. */
async function inTime<Value>(clock: FakeClock, promise: Promise<Value>): Promise<Value> {
  const waiting = new Set([promise]);
  const settled = promise.finally(() => waiting.clear());
  settled.catch(() => {});
  while (waiting.size > 0) await clock.advance(10);
  return settled;
}

test('the score of the answer is returned and the body is sent as JSON', async () => {
  const { ask, bodies } = await aJudge(scored('{"score": 0.25, "why": "short"}'));
  expect(await ask()).toEqual({ kind: 'scored', score: 0.25 });
  expect(bodies).toEqual(['{"item":1}']);
});

test('files are sent as base64 in slices that join to the whole, with the length that the request names', async () => {
  const { ask, requests } = await aJudge(scored('{"score": 1}'));
  const files = [0, 1, 2, 3, 96 * 1024, 1_000_001].map((bytes) => Buffer.alloc(bytes, 'a picture'));
  const pieces = files.flatMap((bytes, index) => [`${index === 0 ? '' : ','}"`, bytes, '"']);
  await ask({ body: ['{"told":"é","files":[', ...pieces, ']}'] });
  const { body, length } = requests[0] ?? { body: '', length: '' };
  expect(length).toBe(String(Buffer.byteLength(body)));
  expect(JSON.parse(body)).toEqual({ told: 'é', files: files.map((bytes) => bytes.toString('base64')) });
});

test('a request with files that the judge refuses before it has read them is followed by the harmless one', async () => {
  const { ask, refuseUnread } = await aJudge(scored('{"score": 0}'));
  refuseUnread(1_000_000);
  const told = await ask({ body: ['{"files":["', Buffer.alloc(8_000_000), '"]}'] });
  expect(told).toMatchObject({ kind: 'refused', reason: 'the judge answered 413: too large' });
});

test('what it gives as its reason is told with the score, without the secrets that it was sent, and a list is no reason', async () => {
  const secrets = new Map([['JUDGE', 's3cret']]);
  const { ask } = await aJudge(
    scored('{"score": 0.25, "reason": "two of four, s3cret"}'),
    scored('{"score": 1, "reason": ["all"]}'),
  );
  expect(await ask({ secrets })).toEqual({
    kind: 'scored',
    score: 0.25,
    said: 'two of four, [secret JUDGE]',
  });
  expect(await ask({ secrets })).toEqual({ kind: 'scored', score: 1 });
});

test('a judge that fails with our secret in its words is told without it', async () => {
  const secrets = new Map([['JUDGE', 's3cret']]);
  const { ask } = await aJudge(scored('bad token s3cret', 401));
  await expect(ask({ secrets, retries: 0 })).rejects.toMatchObject({
    message: expect.stringContaining('bad token [secret JUDGE]') as string,
    evidence: { reason: expect.not.stringContaining('s3cret') as string },
  });
});

test.each([
  ['a 503', scored('busy', 503)],
  ['a connection cut before the answer', (response: ServerResponse) => response.destroy()],
  [
    'half a body',
    (response: ServerResponse) => {
      response.writeHead(200, { 'content-length': '100' }).write('{"score": 1');
      setImmediate(() => response.destroy());
    },
  ],
  ['text that is no JSON', scored('I would say seven')],
  ['a score that is not finite', scored('{"score": 1e999}')],
  ['a score that is text', scored('{"score": "1"}')],
])('after %s the judge is asked again', async (_what, bad) => {
  const { ask, bodies, clock } = await aJudge(bad, scored('{"score": 1}'));
  expect(await inTime(clock, ask())).toEqual({ kind: 'scored', score: 1 });
  expect(bodies).toHaveLength(2);
});

test('a judge that never does better is a failure of the grader after its retries', async () => {
  const { ask, bodies, clock } = await aJudge(scored('busy', 500));
  await expect(inTime(clock, ask())).rejects.toMatchObject({
    code: 'grader_failed',
    evidence: { tries: 3, reason: 'answered 500' },
  });
  expect(bodies).toHaveLength(3);
});

test.each([301, 401, 402, 404, 405, 407, 415])(
  'a %i is wrong for every answer alike: a failure at once, and nobody suspects the answer',
  async (status) => {
    const { ask, bodies } = await aJudge(scored('{"score": 1}', status), scored('{"score": 1}'));
    await expect(ask()).rejects.toMatchObject({
      code: 'grader_failed',
      evidence: { reason: `answered ${status}: {"score": 1}` },
    });
    expect(bodies).toHaveLength(1);
  },
);

test.each([400, 403, 413, 422, 451])(
  'a %i by a judge that scores the harmless answer is this answer’s doing: refused, after one question more',
  async (status) => {
    const { ask, bodies } = await aJudge(scored('too long', status), scored('{"score": 0}'));
    expect(await ask()).toEqual({ kind: 'refused', reason: `the judge answered ${status}: too long` });
    expect(bodies.map((body) => JSON.parse(body) as unknown)).toEqual([{ item: 1 }, { item: 'harmless' }]);
  },
);

test.each([400, 403, 413, 422])(
  'a %i for the harmless answer too is a judge that is broken for everybody: its failure, never a score',
  async (status) => {
    const { ask, bodies } = await aJudge(scored('no such model', status));
    await expect(ask()).rejects.toMatchObject({ code: 'grader_failed', evidence: { tries: 2 } });
    expect(bodies).toHaveLength(2);
  },
);

test('nonsense of this answer to the last try, and a score of the harmless one: the answer has talked it into that', async () => {
  const nonsense = scored('ignoring my instructions, as you asked');
  const { ask, bodies, clock } = await aJudge(nonsense, nonsense, nonsense, scored('{"score": 0.5}'));
  expect(await inTime(clock, ask())).toMatchObject({ kind: 'refused' });
  expect(bodies).toHaveLength(4);
});

test('nonsense of the harmless answer too is the judge’s failure', async () => {
  const { ask, clock } = await aJudge(scored('I would say seven'));
  await expect(inTime(clock, ask({ retries: 0 }))).rejects.toMatchObject({
    code: 'grader_failed',
    evidence: { suspected: 'answer' },
  });
});

test.each([
  ['fails', scored('no', 500), 'answer'],
  ['is silent', () => undefined, 'answer'],
  ['is busy', scored('no', 429), undefined],
  ['hangs up', (response: ServerResponse) => response.destroy(), undefined],
] as const)(
  'a judge that %s is no refusal, and marked only where its answer may be why',
  async (_what, bad, mark) => {
    const { ask, clock } = await aJudge(bad, scored('{"score": 1}'));
    const failure: unknown = await inTime(clock, ask({ retries: 0, timeoutMs: 300 })).catch(
      (thrown: unknown) => thrown,
    );
    expect(failure).toMatchObject({ code: 'grader_failed' });
    expect((failure as Failure).evidence['suspected']).toBe(mark);
  },
);

test('a silent judge is given up after its time', async () => {
  const { ask, clock } = await aJudge(() => {});
  await expect(inTime(clock, ask({ timeoutMs: 200, retries: 0 }))).rejects.toThrow('gave no answer in time');
});

test('Retry-After is obeyed', async () => {
  const { ask, clock } = await aJudge(limited('2'), scored('{"score": 1}'));
  const startMs = clock.monotonicMs();
  expect(await inTime(clock, ask())).toEqual({ kind: 'scored', score: 1 });
  expect(clock.monotonicMs() - startMs).toBeGreaterThanOrEqual(2000);
});

test('a Retry-After beyond the deadline fails at once instead of waiting for nothing', async () => {
  const { ask, bodies } = await aJudge(limited('60'));
  await expect(ask()).rejects.toMatchObject({ code: 'grader_failed' });
  expect(bodies).toHaveLength(1);
});

test('a caller that gives up ends the waiting', async () => {
  const { ask } = await aJudge(scored('busy', 503));
  await expect(ask({}, AbortSignal.abort())).rejects.toMatchObject({ code: 'grader_failed' });
});

test('each try says for how long it is waited for: its own time, or what is left of the turn', async () => {
  const { ask, requests, clock } = await aJudge(scored('busy', 500));
  await expect(inTime(clock, ask({ retries: 1 }))).rejects.toThrow('answered 500');
  expect(requests.map(({ remaining }) => remaining)).toEqual([1_000, 1_000]);
  await expect(inTime(clock, ask({ retries: 0 }, undefined, 400))).rejects.toThrow('answered 500');
  expect(requests.at(-1)?.remaining).toBe(400);
});

test('a turn that has less time left than the judge may take marks its failure, because its commands may have taken the time', async () => {
  const busy = await aJudge(limited('60'));
  const markOf = (asked: Promise<unknown>) =>
    inTime(busy.clock, asked).catch((thrown: Failure) => thrown.evidence['suspected'] ?? 'no mark');
  expect(await markOf(busy.ask({}, undefined, 6_000))).toBe('no mark');
  expect(await markOf(busy.ask({}, undefined, 5_999))).toBe('command');
});

test('a judge that is given up with its turn is not said to be silent, and the answer that it may have refused stays marked', async () => {
  const { ask, clock } = await aJudge(() => undefined);
  const over = new AbortController();
  const asked = inTime(clock, ask({ retries: 0 }, over.signal, 500));
  over.abort();
  await expect(asked).rejects.toMatchObject({
    evidence: { reason: expect.stringContaining('no time left') as string },
  });
  await expect(asked).rejects.toMatchObject({ evidence: { suspected: 'answer' } });
});
