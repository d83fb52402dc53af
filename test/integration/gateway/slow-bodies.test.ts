import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http';
import { json } from 'node:stream/consumers';
import { afterEach, expect, it } from 'vitest';
import { patienceMs } from '#services/gateway/http/slow-bodies.ts';
import { systemClock } from '#src/platform/clock.ts';
import { type GatewayUnderTest, keyOfAnotherTenant, startGateway } from './gateway-under-test.ts';

/* Places of a gateway are few here, and time is skipped instead of waited for; sockets, keys and bodies are real. */

let started: GatewayUnderTest[] = [];
let clients: ClientRequest[] = [];
afterEach(async () => {
  for (const client of clients) client.destroy();
  await Promise.all(started.map((gateway) => gateway.stop(0)));
  [started, clients] = [[], []];
});

async function startFull(requests: number) {
  let skippedMs = 0;
  const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + skippedMs };
  const gateway = await startGateway({ holdLimits: { requests, bodyBytes: 1_000_000 } }, clock);
  started.push(gateway);
  return { gateway, outwait: () => void (skippedMs += patienceMs + 1) };
}

const bodyOf = (call: string) =>
  JSON.stringify({ id: 'fc', call_id: call, name: 'shell', arguments: '{}', trace_id: 'trace_1' });

/** A request that has sent its headers and the first byte of its body. */
function begin(
  gateway: GatewayUnderTest,
  call: string,
  headers: Record<string, string> = gateway.headersOf('rft:tools'),
  [method, path] = ['POST', '/rft/shell/tools/shell'],
) {
  const body = bodyOf(call);
  const client = httpRequest(`${gateway.url}${path}`, {
    method,
    agent: false,
    headers: { ...headers, 'content-length': Buffer.byteLength(body) },
  });
  clients.push(client);
  client.on('error', () => undefined);
  const answered = once(client, 'response').then(async ([response]) => {
    const { statusCode, headers: back } = response as IncomingMessage;
    return { status: statusCode, headers: back, body: await json(response as IncomingMessage) };
  });
  client.write(body.slice(0, 1));
  return { answered, finish: () => void client.end(body.slice(1)) };
}

const ofAnother = { authorization: `Bearer ${keyOfAnotherTenant}`, 'content-type': 'application/json' };

async function callOfAnother(gateway: GatewayUnderTest) {
  const request = begin(gateway, 'c-other', ofAnother);
  request.finish();
  return request.answered;
}

const overloaded = (admitted: string) => ({
  status: 503,
  headers: { 'retry-after': expect.any(String) },
  body: { error: { code: 'gateway_overloaded', retryable: true, tainted: false, admitted } },
});

it('a tenant whose slow bodies hold all places makes room for another tenant, whose call is served at once', async () => {
  const { gateway, outwait } = await startFull(4);
  const slow = ['c1', 'c2', 'c3', 'c4'].map((call) => begin(gateway, call));
  await expect.poll(async () => (await callOfAnother(gateway)).status).toBe(503);
  outwait();
  expect(await callOfAnother(gateway)).toMatchObject({ status: 200 });
  expect(await Promise.race(slow.map(({ answered }) => answered))).toMatchObject(overloaded('no'));
  for (const { finish } of slow) finish();
  const statuses = (await Promise.allSettled(slow.map(({ answered }) => answered))).map(
    (one) => one.status === 'fulfilled' && one.value.status,
  );
  expect(statuses.filter((status) => status === 200)).toHaveLength(3);
});

it('a tenant that is alone keeps its places, and its own slow bodies make room for its next request', async () => {
  const { gateway, outwait } = await startFull(2);
  const slow = ['c1', 'c2'].map((call) => begin(gateway, call));
  const next = async () => {
    const request = begin(gateway, 'c3');
    request.finish();
    return request.answered;
  };
  await expect.poll(async () => (await next()).status).toBe(503);
  outwait();
  expect(await next()).toMatchObject({ status: 200 });
  expect(await Promise.race(slow.map(({ answered }) => answered))).toMatchObject(overloaded('no'));
});

it('a body without a key holds no place, however slowly it comes', async () => {
  const { gateway } = await startFull(1);
  const strangers = ['s1', 's2', 's3'].map((call) => begin(gateway, call, {}));
  for (const { answered } of strangers)
    expect(await answered).toMatchObject({ body: { error: { code: 'unauthorized' } } });
  expect(await callOfAnother(gateway)).toMatchObject({ status: 200 });
});

it('an upload that stalls is answered as one whose part may be in the sandbox, and its transfer breaks off', async () => {
  const { gateway, outwait } = await startFull(1);
  const upload = begin(gateway, 'u1', gateway.headersOf('native'), ['PUT', '/v1/rollouts/trace_1/files/a']);
  await expect.poll(async () => (await callOfAnother(gateway)).status).toBe(503);
  outwait();
  expect(await callOfAnother(gateway)).toMatchObject({ status: 200 });
  expect(await upload.answered).toMatchObject(overloaded('unknown'));
  await expect.poll(() => gateway.core.brokenOff).toBe(1);
});
