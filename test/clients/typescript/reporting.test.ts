import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, vi } from 'vitest';
import {
  Client,
  Discarded,
  Lost,
  Misuse,
  Refused,
  Rollout,
  Unavailable,
  version,
} from '#clients/typescript/src/index.ts';
import described from '#clients/typescript/package.json' with { type: 'json' };
import { afterOpen, failure, opened, result, type Said, stranger } from './stranger.ts';

/* What a trainer learns while something is tried again, and what it can ask before it opens a rollout. */

const clientAt = (url: string, options: object = {}) =>
  new Client({ url, key: 'key', run: 'run', log: () => {}, ...options });
const graded: Said = { status: 200, body: { score: 1, detail: {}, replayed: false } };

it('has one base class for what a trainer leaves out of a group', () => {
  const isLost = [Discarded, Unavailable, Misuse, Refused].map((kind) => kind.prototype instanceof Lost);
  expect(isLost).toEqual([true, true, false, false]);
});

it('names the client and its version in each request', async () => {
  let agent: string | undefined;
  const server = createServer((request, response) => {
    agent = request.headers['user-agent'];
    response.writeHead(201).end(JSON.stringify(opened.body));
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Rollout('shell', { client: clientAt(`http://127.0.0.1:${port}`) }).open();
  server.close();
  server.closeAllConnections();
  expect(agent).toBe(`corral-typescript/${version}`);
  expect(version).toBe(described.version);
});

it('gives up a gateway that was never reached within seconds', async () => {
  const gone = await stranger(() => opened);
  await gone[Symbol.asyncDispose]();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  try {
    const began = performance.now();
    const over = new AbortController();
    const asked = clientAt(gone.url, { patienceS: 900 }).tools('shell');
    const given = asked.catch((error: unknown) => error).finally(() => over.abort());
    // Only the pauses are fake: what the sockets report comes in between.
    while (!over.signal.aborted) await vi.advanceTimersByTimeAsync(100).then(() => new Promise(setImmediate));
    expect(await given).toMatchObject({ name: 'Unavailable', code: 'gateway_unreachable' });
    expect(performance.now() - began).toBeLessThan(16_000);
  } finally {
    vi.useRealTimers();
  }
});

it('reports what is tried again once for all rollouts, with its code and message', async () => {
  const lines: string[] = [];
  const busy = Array.from({ length: 12 }, () => failure('gateway_overloaded', 503));
  await using one = await stranger(afterOpen(...busy, result()));
  const client = clientAt(one.url, { log: (line: string) => void lines.push(line) });
  const rollouts = Array.from({ length: 4 }, () => new Rollout('shell', { client }));
  await Promise.all(rollouts.map((rollout) => rollout.exec('true')));
  await Promise.all(rollouts.map((rollout) => rollout.finish()));
  expect(lines).toEqual([expect.stringMatching(/is tried again: gateway_overloaded: said$/)]);
});

it('ends finish with the patience of the client', async () => {
  await using one = await stranger((line) =>
    line.includes('/finish') ? failure('recovering', 503) : opened,
  );
  const rollout = new Rollout('shell', { client: clientAt(one.url, { patienceS: 0.5 }) });
  await rollout.open();
  const began = performance.now();
  // It would be 30 s, and the end of the process tries once more.
  await rollout.finish();
  expect(performance.now() - began).toBeLessThan(20_000);
});

it('reads the limits of an environment before anything is opened', async () => {
  const limits = { run_as: 'user', folders: ['/logs'], longest_timeout_s: 3600, output_bytes: 65_536 };
  await using one = await stranger(() => ({ status: 200, body: { functions: [], limits } }));
  expect(await clientAt(one.url).limits('shell')).toEqual({
    runAs: 'user',
    folders: ['/logs'],
    longestTimeoutS: 3600,
    outputBytes: 65_536,
  });
  await using older = await stranger(() => ({ status: 200, body: { functions: [] } }));
  await expect(clientAt(older.url).limits('shell')).rejects.toThrow(/older/);
});

it('has the reason of a command that never began on its stderr', async () => {
  const body = { outcome: 'refused', exit_code: null, output: 'there is no folder /nowhere' };
  await using one = await stranger(afterOpen(result(body)));
  await using rollout = new Rollout('shell', { client: clientAt(one.url) });
  expect(await rollout.exec('true', { cwd: '/nowhere' })).toMatchObject({
    stderr: 'there is no folder /nowhere',
    returnCode: 126,
  });
});

it('grades a rollout whose adapter asked a question of its own that was a mistake', async () => {
  const wrong = failure('invalid_request', 400, { blame: 'caller', retryable: false });
  await using one = await stranger((line) =>
    line.includes('/exec') ? wrong : line.includes('/grade') ? graded : opened,
  );
  await using rollout = new Rollout('shell', { client: clientAt(one.url) });
  await expect(rollout.exec('id', { user: 'root', probe: true })).rejects.toThrow(Misuse);
  expect((await rollout.grade()).score).toBe(1);
  await expect(rollout.exec('id')).rejects.toThrow(Misuse);
  await expect(rollout.grade()).rejects.toThrow(Misuse);
});
