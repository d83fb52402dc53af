import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { createFakeClock } from '../../../test/fakes/clock.ts';
import type { FakeClock } from '../../../test/fakes/clock.ts';
import { createFakeRandom } from '../../../test/fakes/random.ts';
import type { JudgeRequest } from '../../ports/judge.ts';
import { createHttpJudge } from './http-judge.ts';

type Answer = (response: ServerResponse) => void;

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
  const server = createServer((request, response) => {
    request.setEncoding('utf8');
    let body = '';
    request.on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      bodies.push(body);
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
  const ask = (given: Partial<JudgeRequest> = {}, signal = new AbortController().signal) =>
    judge.score({ url, headers: {}, body: { item: 1 }, timeoutMs: 1000, retries: 2, ...given }, signal);
  return { ask, bodies, clock };
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
  expect(await ask()).toBe(0.25);
  expect(bodies).toEqual(['{"item":1}']);
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
  expect(await inTime(clock, ask())).toBe(1);
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

test('a refusal is not repeated', async () => {
  const { ask, bodies } = await aJudge(scored('who are you?', 401));
  await expect(ask()).rejects.toMatchObject({ code: 'grader_failed' });
  expect(bodies).toHaveLength(1);
});

test('a silent judge is given up after its time', async () => {
  const { ask, clock } = await aJudge(() => {});
  await expect(inTime(clock, ask({ timeoutMs: 200, retries: 0 }))).rejects.toThrow('gave no answer in time');
});

test('Retry-After is obeyed', async () => {
  const { ask, clock } = await aJudge(limited('2'), scored('{"score": 1}'));
  const startMs = clock.monotonicMs();
  expect(await inTime(clock, ask())).toBe(1);
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
