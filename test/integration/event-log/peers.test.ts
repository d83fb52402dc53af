import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { afterEach, expect, test } from 'vitest';
import { createAskKeeper } from '#src/adapters/event-log/ask-keeper.ts';
import { rolloutId, runId, tenantId } from '#src/model/ids.ts';
import { rolloutKey } from '#src/model/rollout.ts';
import { systemClock } from '#src/platform/clock.ts';
import { systemRandom } from '#src/platform/random.ts';
import { createPeerTokens } from '#src/platform/tokens.ts';
import type { Told, Wanted } from '#src/protocol/fleet/events.ts';
import { answerPeer, OwnEvents } from '#src/reports/own-events.ts';

/** A log that is only searched. */
const noFiles = {
  files: () => Promise.resolve(null),
  async *follow(): AsyncGenerator<never, 'gone'> {
    yield* [];
    return 'gone';
  },
};

const wanted: Wanted = { tenant: tenantId('acme'), run: null, rollout: rolloutId('a') };
const tokens = createPeerTokens({ current: 'aa'.repeat(32), other: null });

const verdictOf = (tenant: string, rollout = 'a') =>
  JSON.stringify({
    kind: 'verdict',
    atMs: 1,
    key: rolloutKey({
      tenant: tenantId(tenant),
      run: runId('nightly'),
      rollout: rolloutId(rollout),
      attempt: 1,
      role: 'policy',
    }),
    keyId: 'trainer',
    environment: 'shell',
    version: 'v1',
    verdict: { kind: 'scorable' },
    score: 1,
    suspected: null,
    evidence: {},
  });

const servers: Server[] = [];
const peers = createAskKeeper({ tokens, random: systemRandom, beginMs: 300, answerMs: 2_000 });
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

type Answer = (request: IncomingMessage, response: ServerResponse, address: string) => void;

async function listening(answer: Answer): Promise<string> {
  let address = '';
  const server = createServer((request, response) => answer(request, response, address));
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return address;
}

/** Another process of the fleet, whose log has these lines. */
const processWith = (...lines: readonly string[]) => {
  const search = () => Readable.from(lines) as AsyncIterable<string>;
  const own = new OwnEvents({
    log: { ...noFiles, flush: () => Promise.resolve(), search },
    clock: systemClock,
  });
  return listening((request, response, address) => {
    const told = answerPeer({ own, address, tokens }, request.url ?? '', request.headers.authorization);
    if (told === null) return void response.writeHead(401).end();
    Readable.from(told, { objectMode: false }).pipe(response);
  });
};

async function ask(address: string, asked = wanted): Promise<readonly (string | Told)[]> {
  const got: (string | Told)[] = [];
  const answer = peers.ask(address, asked, new AbortController().signal);
  for (;;) {
    const { done, value } = await answer.next();
    got.push(value);
    if (done === true) return got;
  }
}

test('the lines of another process, and that these are all; nothing of another tenant or rollout whatever it says', async () => {
  const ours = verdictOf('acme');
  const address = await processWith(
    verdictOf('other'),
    ours,
    verdictOf('acme', 'b'),
    'no event',
    '{"kind":"x"}',
  );
  expect(await ask(address)).toEqual([ours, { told: 'all', why: null }]);
});

test('the verdicts of a run are told alone, and with their why, which all its events have no room for', async () => {
  const why = { itemId: 'q', item: '{"id":"q"}', answer: {}, reference: {}, parts: [], stderr: '' };
  const plain = JSON.parse(verdictOf('acme')) as object;
  const whole = JSON.stringify({ ...plain, why });
  const closed = JSON.stringify({ ...plain, kind: 'rollout_closed', by: 'finished' });
  const address = await processWith(whole, closed);
  const run: Wanted = { tenant: tenantId('acme'), run: runId('nightly'), rollout: null };
  const end = { told: 'all', why: null };
  expect(await ask(address, { ...run, verdicts: true })).toEqual([whole, end]);
  expect(await ask(address, run)).toEqual([JSON.stringify(plain), closed, end]);
});

test('who has not the fleet key is told nothing, with whatever token', async () => {
  const address = await processWith(verdictOf('acme'));
  const target = '/fleet/events?nonce=1&tenant=acme&rollout=a';
  const status = async (path: string, token: string) =>
    (await fetch(`${address}${path}`, { headers: { authorization: `Bearer ${token}` } })).status;
  const token = tokens.peerToken(`asks ${address}${target}`);
  expect(await status(target, token)).toBe(200);
  // What opens this question opens no other one, and none of another process.
  expect(await status(target.replace('acme', 'other'), token)).toBe(401);
  expect(await status(target, tokens.peerToken(`asks http://10.0.0.1:8080${target}`))).toBe(401);
  expect(await status(target, '')).toBe(401);
  const everybody = '/fleet/events?nonce=1';
  expect(await status(everybody, tokens.peerToken(`asks ${address}${everybody}`))).toBe(401);
});

test('whoever has got the address of a process that ended, a sandbox for instance, is not believed', async () => {
  const forged = [verdictOf('acme'), '{"kind":"end","told":"all","why":null}', ''].join('\n');
  for (const begin of ['', '{"kind":"begin","proof":"guess"}\n']) {
    const address = await listening((_, response) => void response.end(`${begin}${forged}`));
    await expect(ask(address)).rejects.toThrow('none of this fleet');
  }
  // Another process' proof is none of its own.
  const address = await listening((request, response) => {
    const proof = tokens.peerToken(`answers http://10.0.0.1:8080${request.url}`);
    response.end(`${JSON.stringify({ kind: 'begin', proof })}\n${forged}`);
  });
  await expect(ask(address)).rejects.toThrow('none of this fleet');
});

const begin = (request: IncomingMessage, address: string) =>
  `${JSON.stringify({ kind: 'begin', proof: tokens.peerToken(`answers ${address}${request.url}`) })}\n`;

test.each<[string, Answer, RegExp]>([
  ['says nothing at all', () => undefined, /nothing came within 0.3 s/],
  ['sends a head and nothing more', (_, response) => response.writeHead(200).flushHeaders(), /nothing came/],
  ['answers 500', (_, response) => void response.writeHead(500).end(), /its answer was 500/],
  ['breaks off', (request, response, at) => void response.end(begin(request, at)), /broke off/],
  ['begins and never ends', (request, response, at) => void response.write(begin(request, at)), /timeout/],
])('a process that %s costs its time and an error', async (_, answer, message) => {
  const startedMs = performance.now();
  await expect(ask(await listening(answer))).rejects.toThrow(message);
  expect(performance.now() - startedMs).toBeLessThan(3_000);
});

test('nobody at the address: refused at once', async () => {
  await expect(ask('http://127.0.0.1:1')).rejects.toThrow(/ECONNREFUSED/);
});
