import { afterEach, beforeEach, expect, test } from 'vitest';
import { writePass } from '#services/gateway/e2b/pass.ts';
import { Failure } from '#src/failure/failure.ts';
import { rolloutId, runId, tenantId } from '#src/model/ids.ts';
import { rolloutKey } from '#src/model/rollout.ts';
import { systemClock } from '#src/platform/clock.ts';
import { fakeEnvironment } from '#test/fakes/environment.ts';
import { envelope } from '#test/support/connect.ts';
import { developmentKey, fleetTokens, type GatewayUnderTest, startGateway } from './gateway-under-test.ts';

let gateway: GatewayUnderTest;
beforeEach(async () => {
  gateway = await startGateway();
});
afterEach(() => gateway.stop(1_000));

const sandbox = 'a0b1c2';
const owner = { tenant: tenantId('acme'), run: runId('nightly'), rollout: rolloutId(sandbox) } as const;
const key = rolloutKey({ ...owner, attempt: 1, role: 'policy' });
const pass = writePass(fleetTokens, { sandbox, run: 'nightly', key: 'native', envs: {} }) ?? '';
const shown = (token = pass) => ({ 'e2b-sandbox-id': sandbox, 'x-access-token': token });

const run = () =>
  fetch(`${gateway.url}/e2b/process.Process/Start`, {
    method: 'POST',
    body: envelope({ process: { cmd: '/bin/true' } }),
    headers: { 'content-type': 'application/connect+json', ...shown() },
  });
const read = (token?: string) => fetch(`${gateway.url}/e2b/files?path=a`, { headers: shown(token) });
const stat = () =>
  fetch(`${gateway.url}/e2b/filesystem.Filesystem/Stat`, {
    method: 'POST',
    body: '{"path":"a"}',
    headers: { 'content-type': 'application/json', 'connect-timeout-ms': '1000', ...shown() },
  });

const said = () => expect.poll(() => gateway.gateways.said);
const away = new Failure('state_unavailable', 'away');

test.each([
  ['a command', run],
  ['a file', read],
  ['a question', stat],
])('%s is in hand before its work begins and until its answer has ended', async (_name, ask) => {
  const held = Promise.withResolvers<void>();
  gateway.core.gate = held.promise;
  const answer = ask();
  await expect.poll(() => gateway.core.calls.length).toBe(1);
  expect(gateway.gateways.said).toEqual([`enter ${key}`]);
  held.resolve();
  await (await answer).arrayBuffer();
  await said().toEqual([`enter ${key}`, `leave ${key}`]);
});

test.each([
  ['a command', run],
  ['a file', read],
  ['a question', stat],
])('%s that fails for the infrastructure gives its sandbox up, once', async (_name, ask) => {
  gateway.core.failure = away;
  await (await ask()).arrayBuffer();
  await said().toEqual([`enter ${key}`, `lose ${key} failed state_unavailable`, `leave ${key}`]);
});

test('a command whose stream has begun and then fails gives its sandbox up', async () => {
  const held = Promise.withResolvers<void>();
  gateway.core.gate = held.promise;
  const answer = await run();
  gateway.core.failure = away;
  held.resolve();
  await answer.arrayBuffer();
  await said().toContain(`lose ${key} failed state_unavailable`);
});

test('a file that breaks off after its status was sent gives its sandbox up', async () => {
  gateway.core.file = [Buffer.from('a'), new Failure('sandboxd_unreachable', 'broken off')];
  const answer = await read();
  expect(answer.status).toBe(200);
  await expect(answer.arrayBuffer()).rejects.toThrow();
  await said().toContain(`lose ${key} failed sandboxd_unreachable sandbox command`);
});

test('a client that hangs up in the middle of a file gives nothing up', async () => {
  gateway.core.file = endless();
  const answer = await read();
  await answer.body?.cancel();
  await said().toEqual([`enter ${key}`, `leave ${key}`]);
});

function* endless(): Generator<Buffer> {
  for (;;) yield Buffer.alloc(1024);
}

test('what the caller or the policy did gives nothing up', async () => {
  gateway.core.failure = new Failure('rollout_closed', 'over');
  await (await read()).arrayBuffer();
  await said().toEqual([`enter ${key}`, `leave ${key}`]);
});

test('a request that is refused before its work gives a sandbox up only if it shows a good pass', async () => {
  await gateway.stop(0);
  gateway = await startGateway({ holdLimits: { requests: 0, bodyBytes: 1 } });
  expect((await read('nonsense')).status).toBe(401);
  expect((await read()).status).toBe(503);
  await said().toEqual([`lose ${key} failed gateway_overloaded`]);
});

test('a gateway that does not know yet whether another listened opens no sandbox', async () => {
  await gateway.stop(0);
  gateway = await startGateway({}, systemClock, false);
  const own = fakeEnvironment();
  const asked = Promise.withResolvers<void>();
  gateway.core.environments = () => [own];
  gateway.core.environment = () => {
    asked.resolve();
    return Promise.resolve(own);
  };
  const opening = fetch(`${gateway.url}/e2b/v2/sandboxes`, {
    method: 'POST',
    body: JSON.stringify({ templateID: own.name }),
    headers: { 'x-api-key': developmentKey, 'content-type': 'application/json' },
  });
  await asked.promise;
  expect((await stat()).status).toBe(503);
  expect(gateway.core.calls).toEqual([]);
  gateway.requests.decided();
  expect((await opening).status).toBe(201);
});

test('a gateway that does not know yet whether another listened ends no sandbox', async () => {
  await gateway.stop(0);
  gateway = await startGateway({}, systemClock, false);
  const killing = fetch(`${gateway.url}/e2b/sandboxes/${sandbox}`, {
    method: 'DELETE',
    headers: { 'x-api-key': developmentKey },
  });
  await expect.poll(() => methods()).toEqual(['view']);
  expect((await stat()).status).toBe(503);
  expect(methods()).toEqual(['view']);
  gateway.requests.decided();
  expect((await killing).status).toBe(204);
  expect(methods()).toEqual(['view', 'close']);
});

const methods = () => gateway.core.calls.map(({ method }) => method);
