import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, symlink, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bundleServices } from '#infra/services/bundle-services.ts';
import { connectFleetState } from '#src/adapters/redis/fleet-state.ts';
import { type PrivateRedis, startRedis } from '#test/support/redis.ts';

const root = join(import.meta.dirname, '../../..');
let services: string;
let folder: string;
let redis: PrivateRedis;
const running: ChildProcess[] = [];
const silent = (): void => undefined;

beforeAll(async () => {
  services = (await bundleServices()).dir;
  folder = await mkdtemp(join(tmpdir(), 'corral-gateway-'));
  redis = await startRedis();
  const state = await connectFleetState({
    url: redis.socket,
    fleet: 'test',
    commandTimeoutMs: 2_000,
    onTrouble: silent,
  });
  await state.adoptRedis('empty');
  await state.close();
});
afterAll(async () => {
  for (const child of running) child.kill('SIGKILL');
  await redis.stop();
  await rm(folder, { recursive: true, force: true });
});

type Line = {
  readonly message: string;
  readonly url?: string;
  readonly error?: string;
  readonly reason?: string;
};

/** Starts the process and gives its first log line that says one of these. */
async function start(
  changes: Record<string, string> = {},
  ...saying: readonly string[]
): Promise<readonly [ChildProcess, Line]> {
  const child = spawn(process.execPath, [join(services, 'gateway.mjs')], {
    stdio: ['pipe', 'ignore', 'pipe'],
    env: {
      CORRAL_LISTEN: '127.0.0.1:0',
      CORRAL_FLEET: 'test',
      CORRAL_REDIS: redis.socket,
      CORRAL_ENVIRONMENTS: join(root, 'environments'),
      CORRAL_FLEET_KEY_FILE: join(folder, 'fleet.key'),
      CORRAL_EVENT_LOG_DIR: join(folder, 'events'),
      CORRAL_DRAIN_DELAY_MS: '0',
      CORRAL_DEVELOPMENT_KEY: 'secret',
      CORRAL_EXIT_WITH_PARENT: '1',
      ...changes,
    },
  });
  running.push(child);
  return [child, await lineOf(child, ['listening', 'the gateway cannot start', ...saying])];
}

const linesOf = new WeakMap<ChildProcess, AsyncIterator<string>>();

async function lineOf(child: ChildProcess, messages: readonly string[]): Promise<Line> {
  if (child.stderr === null) throw new Error('its log is not read');
  const lines = linesOf.get(child) ?? createInterface({ input: child.stderr })[Symbol.asyncIterator]();
  linesOf.set(child, lines);
  for (;;) {
    const { value, done } = await lines.next();
    if (done === true) throw new Error(`it ended without saying ${messages.join(' or ')}`);
    const line = JSON.parse(value) as Line;
    if (messages.includes(line.message)) return line;
  }
}

it('the process serves both faces over the real fleet state, and ends cleanly when its parent is gone', async () => {
  const [child, { message, url }] = await start();
  expect(message).toBe('listening');
  const headers = { authorization: 'Bearer secret', 'content-type': 'application/json' };

  const ready = await fetch(`${url ?? ''}/readyz`);
  expect([ready.status, await ready.json()]).toEqual([
    200,
    {
      status: 'ready',
      missing: [],
      limitations: null,
      data: null,
      fleet_state: {
        state: 'up',
        reason: null,
        redis: {
          version: expect.stringMatching(/^\d+\./),
          maxmemory_policy: 'noeviction',
          maxmemory_bytes: null,
          append_only: false,
        },
      },
      environments: { digest: expect.stringMatching(/^[0-9a-f]{64}$/), from: 'own folder', trouble: null },
    },
  ]);

  const environments = await fetch(`${url ?? ''}/v1/environments`, { headers });
  expect(await environments.text()).toContain('"name":"shell"');

  const job = await fetch(`${url ?? ''}/v1/environments/shell/tools`, { headers });
  expect(await job.json()).toMatchObject({
    grader: { type: 'endpoint', url: `${url ?? ''}/rft/shell/grade` },
  });

  const body = JSON.stringify({ id: 'f', call_id: 'c', name: 'x', arguments: '{}', trace_id: 't' });
  const unknown = await fetch(`${url ?? ''}/rft/nothing/tools/x`, { method: 'POST', headers, body });
  expect([unknown.status, await unknown.json()]).toMatchObject([
    500,
    { error: { code: 'unknown_environment' } },
  ]);

  const exited = once(child, 'exit');
  child.stdin?.end();
  expect(await exited).toEqual([0, null]);
});

it('a process that cannot start says why and exits 1', async () => {
  const [child, { message, error }] = await start({ CORRAL_REDIS: '', CORRAL_DEVELOPMENT_KEY: '' });
  expect(message).toBe('the gateway cannot start');
  expect(error).toContain('CORRAL_REDIS is not set');
  expect(error).toContain('nobody could use this gateway');
  if (child.exitCode === null) await once(child, 'exit');
  expect(child.exitCode).toBe(1);
});

it('a process that is started before its Redis waits and says why each second, and serves when it is there', async () => {
  const late = join(folder, 'late.sock');
  const [child, waiting] = await start({ CORRAL_REDIS: late }, 'waiting for Redis');
  expect(waiting.reason).toContain('ENOENT');
  expect((await lineOf(child, ['waiting for Redis'])).reason).toContain('ENOENT');
  await symlink(redis.socket, late);
  const { url } = await lineOf(child, ['listening']);
  expect((await fetch(`${url ?? ''}/readyz`)).status).toBe(200);
  expect(await (await fetch(`${url ?? ''}/metrics`)).text()).toMatch(/^corral_redis_up 1$/mu);
  await unlink(late);
});

it('a process that waits for Redis ends at once when it is told to', async () => {
  const [child] = await start({ CORRAL_REDIS: join(folder, 'never.sock') }, 'waiting for Redis');
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  expect(await exited).toEqual([0, null]);
});

it('a Redis that forgets keys when it is full is refused, with what to do, unless the operator says otherwise', async () => {
  const forgetful = await startRedis({ flags: ['--maxmemory-policy', 'volatile-lru'] });
  const [child, { error }] = await start({ CORRAL_REDIS: forgetful.socket });
  expect(error).toContain('maxmemory-policy volatile-lru');
  expect(error).toContain('CORRAL_REDIS_MAY_EVICT=1');
  if (child.exitCode === null) await once(child, 'exit');
  expect(child.exitCode).toBe(1);
  const [, { message }] = await start({ CORRAL_REDIS: forgetful.socket, CORRAL_REDIS_MAY_EVICT: '1' });
  expect(message).toBe('listening');
  await forgetful.stop();
});

type Ready = { readonly status: number; readonly missing: readonly { readonly name: string }[] };

async function readyAt(url = ''): Promise<Ready> {
  const answer = await fetch(`${url}/readyz`);
  const { missing } = (await answer.json()) as Pick<Ready, 'missing'>;
  return { status: answer.status, missing };
}

it('a gateway with other timings than the running one is not ready and names them, until it says that it replaces them', async () => {
  const fleet = { CORRAL_FLEET: 'timings' };
  const state = await connectFleetState({
    url: redis.socket,
    fleet: 'timings',
    commandTimeoutMs: 2_000,
    onTrouble: silent,
  });
  await state.adoptRedis('empty');
  await state.close();
  const [, first] = await start(fleet);
  expect(await readyAt(first.url)).toEqual({ status: 200, missing: [] });

  const timings = { openingMs: 20_000 };
  const [other, second] = await start({ ...fleet, CORRAL_TIMINGS: JSON.stringify(timings) });
  const reason = expect.stringContaining('openingMs is 20000 here and 30000 in the fleet') as string;
  expect(await readyAt(second.url)).toEqual({ status: 503, missing: [{ name: 'timings', reason }] });
  expect(await readyAt(first.url)).toEqual({ status: 200, missing: [] });
  const exited = once(other, 'exit');
  other.stdin?.end();
  await exited;

  const replacing = JSON.stringify({ ...timings, replaces: {} });
  const [, third] = await start({ ...fleet, CORRAL_TIMINGS: replacing });
  expect(await readyAt(third.url)).toEqual({ status: 200, missing: [] });
  expect(await readyAt(first.url)).toEqual({ status: 200, missing: [] });
});
