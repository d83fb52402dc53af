import { afterEach, beforeEach, expect, test } from 'vitest';
import { writePass } from '#services/gateway/e2b/pass.ts';
import { failureCodes, failureRow } from '#src/failure/codes.ts';
import { Failure } from '#src/failure/failure.ts';
import { fakeEnvironment } from '#test/fakes/environment.ts';
import { fleetTokens, type GatewayUnderTest, startGateway } from './gateway-under-test.ts';
import { dataIn, envelope, envelopesIn, lastIn } from '#test/support/connect.ts';

let gateway: GatewayUnderTest;
beforeEach(async () => {
  gateway = await startGateway();
});
afterEach(() => gateway.stop(1_000));

const sandbox = 'a0b1c2';
const passFor = (id: string, key = 'native') =>
  writePass(fleetTokens, { sandbox: id, run: 'nightly', key, envs: { TASK: '1' } }) ?? '';
const headers = (id = sandbox, pass = passFor(id)) => ({ 'e2b-sandbox-id': id, 'x-access-token': pass });

const get = (path: string, given: Record<string, string> = headers()) =>
  fetch(`${gateway.url}/e2b${path}`, { headers: given });
const post = (path: string, body: unknown, given: Record<string, string> = headers()) =>
  fetch(`${gateway.url}/e2b${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...given },
  });
const start = (message: unknown, given: Record<string, string> = {}) =>
  fetch(`${gateway.url}/e2b/process.Process/Start`, {
    method: 'POST',
    body: envelope(message),
    headers: { 'content-type': 'application/connect+json', ...headers(), ...given },
  });
const hello = { process: { cmd: '/bin/bash', args: ['-l', '-c', 'echo hi'], envs: { B: '2' } } };

test.each(failureCodes)(
  '%s has its status on each way to a sandbox, and none of them says a file is not there',
  async (code) => {
    gateway.core.failure = new Failure(code, 'what happened');
    const status = failureRow(code).e2b;
    const message = status === 502 ? /^The sandbox was not found/ : /what happened/;
    const answers = [
      start(hello),
      get('/files?path=a'),
      post('/files?path=a', 'bytes'),
      post('/filesystem.Filesystem/Stat', { path: 'a' }),
    ];
    for (const answer of await Promise.all(answers)) {
      expect(answer.status).toBe(status);
      expect(await answer.json()).toMatchObject({
        code: status,
        message: expect.stringMatching(message),
        error: { code },
      });
    }
    expect([404, 409]).not.toContain(status);
  },
);

test('a failure after the stream has begun is its last word, and there is no result', async () => {
  const held = Promise.withResolvers<void>();
  gateway.core.gate = held.promise;
  const answer = await start(hello);
  gateway.core.failure = new Failure('sandbox_lost', 'it is gone');
  held.resolve();
  const told = envelopesIn(Buffer.from(await answer.arrayBuffer()));
  expect(answer.status).toBe(200);
  expect(lastIn(told)).toEqual({
    error: { code: 'unavailable', message: 'The sandbox was not found: it is gone (sandbox_lost)' },
  });
  expect(JSON.stringify(told)).not.toContain('"end"');
});

test('a command is run with the variables of its sandbox and its own, in time for its client', async () => {
  gateway.core.result = { ...gateway.core.result, stdout: 'hi\n', exitCode: 0 };
  const answer = await start(hello, { 'connect-timeout-ms': '5000' });
  const told = envelopesIn(Buffer.from(await answer.arrayBuffer()));
  expect(dataIn(told)).toEqual({ stdout: 'hi\n', stderr: '', exitCode: 0 });
  const [caller, asked] = gateway.core.calls.find(({ method }) => method === 'exec')?.args ?? [];
  expect(caller).toMatchObject({ face: 'e2b', tenant: 'acme', run: 'nightly' });
  expect(asked).toMatchObject({ env: { TASK: '1', B: '2' }, timeoutMs: 4_500, killAtOnce: true });
});

test.each(['2592000000', '9999999999'])(
  'a client that waits for %s ms, which is for ever, has its command run and is waited with',
  async (deadline) => {
    await start(hello, { 'connect-timeout-ms': deadline });
    const [, asked] = gateway.core.calls.find(({ method }) => method === 'exec')?.args ?? [];
    expect(asked).toMatchObject({ timeoutMs: 3_600_000, waitMs: 7_200_000 });
  },
);

test.each([
  ['a pass of another sandbox', () => headers(sandbox, passFor('other'))],
  ['a pass whose key is gone', () => headers(sandbox, passFor(sandbox, 'gone'))],
  ['a pass of a key without the scope', () => headers(sandbox, passFor(sandbox, 'rft-tools'))],
  ['a pass that somebody changed', () => headers(sandbox, passFor(sandbox).replace('.', 'x.'))],
  ['a pass that is none', () => headers(sandbox, 'nonsense')],
  ['nothing at all', () => ({ 'e2b-sandbox-id': sandbox })],
])('%s opens no sandbox', async (_name, given) => {
  const answers = [
    get('/health', given()),
    get('/files?path=a', given()),
    post('/process.Process/List', {}, given()),
  ];
  for (const answer of await Promise.all(answers)) expect(answer.status).toBe(401);
  expect(gateway.core.calls).toEqual([]);
  expect(gateway.events.filter(({ kind }) => kind === 'request_refused')).toHaveLength(3);
});

test.each([
  ['a message longer than it says', Buffer.concat([envelope(hello), Buffer.from('x')])],
  ['a compressed message', Buffer.concat([Buffer.from([1]), envelope(hello).subarray(1)])],
  ['no JSON', Buffer.from([0, 0, 0, 0, 1, 0x7b])],
  ['nothing', Buffer.alloc(0)],
])('a stream that is asked for with %s is refused', async (_name, body) => {
  const answer = await fetch(`${gateway.url}/e2b/process.Process/Start`, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/connect+json', ...headers() },
  });
  expect(answer.status).toBe(400);
  expect(gateway.core.calls).toEqual([]);
});

test.each([
  ['a terminal', { ...hello, pty: { size: {} } }],
  ['stdin', { ...hello, stdin: true }],
])('a command with %s is refused in words', async (_name, message) => {
  const answer = await start(message);
  expect(answer.status).toBe(400);
});

const user = (name: string) => ({ authorization: `Basic ${Buffer.from(`${name}:`).toString('base64')}` });

test('commands for another user are refused, those for root are the sandbox’s own', async () => {
  expect((await start(hello, user('agent'))).status).toBe(400);
  expect((await start(hello, user('root'))).status).toBe(200);
});

test('parts of one body are files of their own names', async () => {
  const form = new FormData();
  form.append('file', new Blob(['one']), 'a/one.txt');
  form.append('file', new Blob(['two']), 'two.txt');
  const answer = await fetch(`${gateway.url}/e2b/files`, { method: 'POST', body: form, headers: headers() });
  expect(await answer.json()).toEqual([
    { name: 'one.txt', type: 'file', path: 'a/one.txt' },
    { name: 'two.txt', type: 'file', path: 'two.txt' },
  ]);
  const put = gateway.core.calls.filter(({ method }) => method === 'putFile').map(({ args }) => args[2]);
  expect(put).toMatchObject([{ path: 'a/one.txt' }, { path: 'two.txt' }]);
});

test('a file that is not there is 404, one that may not be read is not', async () => {
  gateway.core.failure = new Failure('invalid_request', 'no such file', { evidence: { errno: 'ENOENT' } });
  expect((await get('/files?path=a')).status).toBe(404);
  gateway.core.failure = new Failure('invalid_request', 'not yours', { evidence: { errno: 'EACCES' } });
  expect((await get('/files?path=a')).status).toBe(400);
});

test('nobody waits for ever: a create that finds no sandbox leaves none behind and says when to come back', async () => {
  const key = gateway.headersOf('native');
  const environment = fakeEnvironment();
  gateway.core.environments = () => [environment];
  gateway.core.environment = () => Promise.resolve(environment);
  const opened = { templateID: environment.name, metadata: { session_id: 'trial 1' } };
  expect((await post('/v2/sandboxes', opened, key)).status).toBe(201);
  gateway.core.exec = () => Promise.reject(new Failure('capacity_timeout', 'none became free'));
  const answer = await post('/v2/sandboxes', opened, key);
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '15']);
  expect(gateway.core.calls.map(({ method }) => method)).toEqual(['open', 'exec', 'open', 'close']);
});

test('a create that fails while a request may have been lost is answered, and its sandbox ends once that is decided', async () => {
  const environment = fakeEnvironment();
  gateway.core.environments = () => [environment];
  gateway.core.environment = () => Promise.resolve(environment);
  gateway.core.exec = () => Promise.reject(new Failure('capacity_timeout', 'none became free'));
  const waits: unknown[] = [];
  gateway.core.close = (_caller, _ref, _by, waitMs) => {
    waits.push(waitMs);
    return new Promise(() => undefined);
  };
  const answer = await post('/v2/sandboxes', { templateID: environment.name }, gateway.headersOf('native'));
  expect(answer.status).toBe(503);
  expect(waits).toEqual([600_000]);
});

test('an address that is not there is the caller’s, in its own words', async () => {
  const answer = await post('/sandboxes/x/pause', {}, gateway.headersOf('native'));
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({
    code: 400,
    message: expect.stringContaining('there is no POST'),
  });
});

test('an address without a key, as get_host leads to, says that sandboxes publish no ports', async () => {
  const answer = await get('/runs/nightly/index.html', {});
  expect([answer.status, await answer.json()]).toMatchObject([
    400,
    { message: expect.stringContaining('publish no ports') },
  ]);
});
