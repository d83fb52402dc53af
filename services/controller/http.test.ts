import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '#src/platform/clock.ts';
import { type OperationsServer, serveOperations } from './http.ts';

const inForce = { digest: 'abc', from: 'own folder', trouble: null } as const;

let server: OperationsServer;
let missing: readonly string[] = [];
beforeEach(async () => {
  server = await serveOperations({
    listen: { host: '127.0.0.1', port: 0 },
    missing: () => missing,
    clock: systemClock,
    fleetState: () => Promise.resolve({ state: 'away', reason: 'refused', server: null }),
    environments: () => inForce,
    answerPeer: (target, authorization) => (authorization === 'Bearer peer' ? linesFor(target) : null),
    metrics: { render: () => Promise.resolve('corral_up 1\n'), contentType: 'text/plain' },
  });
});
afterEach(() => server.close());

async function* linesFor(target: string): AsyncGenerator<string> {
  yield `${target}\n`;
  yield 'end\n';
}

const get = (path: string, method = 'GET') => fetch(`http://127.0.0.1:${server.port}${path}`, { method });

test('it is ready only when nothing is missing, and says what is', async () => {
  missing = ['fleet state: Redis has not answered'];
  const waiting = await get('/readyz');
  expect(waiting.status).toBe(503);
  expect(await waiting.json()).toEqual({
    status: 'not ready',
    missing,
    fleet_state: { state: 'away', reason: 'refused', redis: null },
    environments: inForce,
  });
  missing = [];
  expect((await get('/readyz')).status).toBe(200);
});

test('it is alive whatever is missing, and shows its metrics', async () => {
  expect((await get('/healthz')).status).toBe(200);
  expect(await (await get('/metrics')).text()).toBe('corral_up 1\n');
});

test('anything else is told what is here', async () => {
  expect((await get('/nothing')).status).toBe(404);
  expect((await get('/metrics', 'POST')).status).toBe(405);
});

test('what it logged is told to processes of the fleet, and to nobody else', async () => {
  const target = '/fleet/events?tenant=acme';
  const url = `http://127.0.0.1:${server.port}${target}`;
  expect((await fetch(url)).status).toBe(401);
  const answer = await fetch(url, { headers: { authorization: 'Bearer peer' } });
  expect([answer.status, await answer.text()]).toEqual([200, `${target}\nend\n`]);
});
