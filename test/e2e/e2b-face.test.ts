import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { envelope } from '#test/support/connect.ts';
import { e2bWire, gone, type OpenSandbox, shown } from '#test/support/e2b-wire.ts';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';

const environments = {
  own: `
name: own
sandbox: { image: host, disk: 64Mi, memory: 256Mi, processes: 128 }
grader: { kind: none }
pool: { min_ready: 2, max: 8 }
`,
  narrow: `
name: narrow
sandbox: { image: host, disk: 48Mi }
grader: { kind: none }
pool: { min_ready: 0, max: 1 }
`,
};

let corral: FleetOfTest;
beforeAll(async () => {
  // Long enough for a start on a busy machine.
  corral = await startFleetOfTest({ environments, timings: { e2bLineMs: 10_000 } });
});
afterAll(() => corral.stop());

const { ask, key, open, run, rpc } = e2bWire(
  () => corral.fleet.gatewayUrl,
  () => corral.fleet.apiKey,
);

const verdictOf = async ({ sandboxID }: OpenSandbox) => {
  const { body } = await corral.native.get(`/v1/rollouts/${sandboxID}`);
  return (body as { verdict: { kind: string; code?: string } }).verdict;
};

test('killed while a command runs: it ends in an error, and every later request says that the sandbox is gone', async () => {
  const sandbox = await open();
  const running = run(sandbox, 'echo begun; sleep 60');
  await expect
    .poll(async () => (await corral.native.get(`/v1/rollouts/${sandbox.sandboxID}`)).body)
    .toMatchObject({ in_flight: 1 });
  await corral.killSandboxOf(sandbox.sandboxID);
  // Before its stream has begun it is a status, after that the stream's last word; a result it is never.
  const ended = await running;
  expect(JSON.stringify(ended)).toContain('The sandbox was not found');
  expect('exitCode' in ended ? ended.exitCode : null).toBeNull();
  expect(await verdictOf(sandbox)).toMatchObject({ kind: 'discard', code: 'sandbox_lost' });
  const files = { method: 'POST', body: 'x', headers: shown(sandbox) };
  const answers = [
    ask('/process.Process/Start', {
      ...files,
      body: Buffer.from(envelope({ process: { cmd: 'true' } })),
      headers: { ...shown(sandbox), 'content-type': 'application/connect+json' },
    }),
    ask('/files?path=a', { headers: shown(sandbox) }),
    ask('/files?path=a', files),
    ask('/health', { headers: shown(sandbox) }),
    rpc(sandbox, '/filesystem.Filesystem/Stat', { path: 'a' }),
    rpc(sandbox, '/filesystem.Filesystem/MakeDir', { path: 'a' }),
    rpc(sandbox, '/process.Process/List', {}),
  ];
  for (const answer of await Promise.all(answers)) {
    expect(answer.status).toBe(502);
    expect(await answer.json()).toMatchObject(gone);
  }
  expect((await ask(`/sandboxes/${sandbox.sandboxID}`, { headers: key() })).status).toBe(404);
});

test('a file that was asked for at the moment of the loss is gone with its sandbox, and not merely missing', async () => {
  const sandbox = await open();
  await ask('/files?path=a', { method: 'POST', body: 'x', headers: shown(sandbox) });
  await corral.killSandboxOf(sandbox.sandboxID);
  const answer = await ask('/files?path=a', { headers: shown(sandbox) });
  expect([answer.status, await answer.json()]).toMatchObject([502, gone]);
});

test('the policy’s own timeout is 124 just before its client gives up, whatever it does about being ended', async () => {
  const sandbox = await open();
  const ended = await run(sandbox, "trap '' TERM; sleep 60 & sleep 60", { 'connect-timeout-ms': '3000' });
  expect(ended).toMatchObject({ status: 200, exitCode: 124, last: {} });
  const { body } = await corral.native.get(`/v1/rollouts/${sandbox.sandboxID}`);
  expect(body).toMatchObject({
    verdict: { kind: 'scorable' },
    calls: [{}, { outcome: 'timed_out', code: 'command_timeout' }],
  });
  const { calls } = body as { calls: { duration_ms: number }[] };
  expect(calls.at(-1)?.duration_ms).toBeGreaterThanOrEqual(2_500);
  expect(calls.at(-1)?.duration_ms).toBeLessThan(3_000);
});

test('a policy that prints without end until its timeout is cut, and its client reads 124', async () => {
  const sandbox = await open();
  const loud = await run(sandbox, 'yes | head -c 30000000; sleep 60', { 'connect-timeout-ms': '3000' });
  expect(loud).toMatchObject({
    exitCode: 124,
    stdout: expect.stringMatching(/\n\[stdout was cut: [^\n]*\n$/),
  });
});

test(
  'a line that is longer than its client waits is a failed start, and holds no place',
  { timeout: 120_000 },
  async () => {
    const first = await open('narrow');
    const answer = await ask('/v2/sandboxes', {
      method: 'POST',
      body: JSON.stringify({ templateID: 'narrow' }),
      headers: key(),
    });
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '15']);
    expect(await answer.json()).toMatchObject({ code: 503, error: { code: 'capacity_timeout' } });
    const { body } = await corral.native.get('/v1/fleet');
    expect(body).toMatchObject({
      waiting: expect.not.arrayContaining([expect.objectContaining({ run: 'development' })]),
    });
    expect((await ask(`/sandboxes/${first.sandboxID}`, { method: 'DELETE', headers: key() })).status).toBe(
      204,
    );
  },
);

test('a client that hangs up while it waits leaves no sandbox behind', async () => {
  const first = await open('narrow');
  const patience = AbortSignal.timeout(2_000);
  const body = JSON.stringify({ templateID: 'narrow' });
  const url = `${corral.fleet.gatewayUrl}/e2b/runs/hung/v2/sandboxes`;
  await expect(fetch(url, { method: 'POST', body, headers: key(), signal: patience })).rejects.toThrow();
  await ask(`/sandboxes/${first.sandboxID}`, { method: 'DELETE', headers: key() });
  await expect
    .poll(async () => (await corral.native.get('/v1/runs/hung/rollouts')).body, { timeout: 20_000 })
    .toMatchObject({ rollouts: [{ state: 'closed', closed_by: 'deleted' }] });
});

test('who hangs up and comes again with its key finds its sandbox, and it stays', async () => {
  const first = await open('narrow');
  const body = JSON.stringify({ templateID: 'narrow' });
  const keyed = { ...key(), 'idempotency-key': randomUUID() };
  const patience = AbortSignal.timeout(2_000);
  const url = `${corral.fleet.gatewayUrl}/e2b/v2/sandboxes`;
  await expect(fetch(url, { method: 'POST', body, headers: keyed, signal: patience })).rejects.toThrow();
  const again = ask('/v2/sandboxes', { method: 'POST', body, headers: keyed });
  await ask(`/sandboxes/${first.sandboxID}`, { method: 'DELETE', headers: key() });
  const answer = await again;
  expect(answer.status).toBe(201);
  const sandbox = (await answer.json()) as OpenSandbox;
  expect(await run(sandbox, 'sleep 2; echo mine')).toMatchObject({ stdout: 'mine\n', exitCode: 0 });
  await ask(`/sandboxes/${sandbox.sandboxID}`, { method: 'DELETE', headers: key() });
});

test('odd metadata, groups and pages are refused in words or taken, and never a failure of ours', async () => {
  const create = (body: string) => ask('/v2/sandboxes', { method: 'POST', body, headers: key() });
  for (const metadata of [String.raw`{"a":"\ud800"}`, String.raw`{"\udc00":"a"}`]) {
    expect((await create(`{"templateID":"own","metadata":${metadata}}`)).status).toBe(400);
  }
  for (const group of ['', `${'a'.repeat(199)}\u{1F600}`, 'a\0b']) {
    const { sandboxID } = await open('own', { metadata: { group } });
    await ask(`/sandboxes/${sandboxID}`, { method: 'DELETE', headers: key() });
  }
  expect((await ask('/v2/sandboxes?nextToken=nowhere', { headers: key() })).status).toBe(400);
  expect((await corral.native.get('/v1/runs/development/rollouts?cursor=nowhere')).status).toBe(400);
});

test('paths lead nowhere but through the sandbox, as its own user', async () => {
  const sandbox = await open();
  const read = (path: string) => ask(`/files?path=${encodeURIComponent(path)}`, { headers: shown(sandbox) });
  const inside = await run(sandbox, 'cat /etc/hostname /proc/1/cmdline | head -c 300; ls -a /');
  for (const path of ['../../../../etc/shadow', '/etc/shadow', '/proc/1/environ', '/root/.bashrc']) {
    expect((await read(path)).status).toBeGreaterThanOrEqual(400);
  }
  const up = await read('../etc/hostname');
  expect(inside.status).toBe(200);
  if (up.status === 200) expect('stdout' in inside && inside.stdout).toContain((await up.text()).trim());
  expect((await rpc(sandbox, '/filesystem.Filesystem/Remove', { path: '-rf' })).status).toBe(200);
  expect((await rpc(sandbox, '/filesystem.Filesystem/ListDir', { path: '--help' })).status).toBe(404);
});

test('another sandbox is not reached with one’s own pass, nor with another tenant’s key', async () => {
  const [one, other] = [await open(), await open()];
  const crossed = { ...shown(one), 'e2b-sandbox-id': other.sandboxID };
  expect((await ask('/health', { headers: crossed })).status).toBe(401);
  const guessed = { 'x-api-key': corral.fleet.apiKey, 'e2b-sandbox-id': randomUUID() };
  expect((await ask('/health', { headers: guessed })).status).toBe(502);
  expect((await ask('/sandboxes/anything', { headers: { 'x-api-key': 'wrong' } })).status).toBe(401);
});

test(
  'what a policy prints, forks and fills is its own: cut, ended, told, and no discard',
  { timeout: 120_000 },
  async () => {
    const sandbox = await open();
    const printed = await run(sandbox, 'yes | head -c 30000000');
    expect(printed).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/\n\[stdout was cut: [^\n]*\n$/),
    });
    const forked = await run(sandbox, 'f() { f | f & }; f; sleep 60', { 'connect-timeout-ms': '6000' });
    expect(forked).toMatchObject({ status: 200 });
    expect('exitCode' in forked && forked.exitCode).not.toBe(0);
    const full = await ask('/files?path=big', {
      method: 'POST',
      body: Buffer.alloc(80 * 1024 * 1024),
      headers: shown(sandbox),
    });
    expect([507, 400]).toContain(full.status);
    expect(await run(sandbox, 'echo still here')).toMatchObject({ stdout: 'still here\n', exitCode: 0 });
    expect(await verdictOf(sandbox)).toEqual({ kind: 'scorable' });
  },
);
