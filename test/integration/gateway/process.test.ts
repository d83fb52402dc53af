import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectFleetState } from '../../../src/adapters/redis/fleet-state.ts';
import { startRedis } from '../../support/redis.ts';
import type { PrivateRedis } from '../../support/redis.ts';

const root = join(import.meta.dirname, '../../..');
let folder: string;
let redis: PrivateRedis;
const running: ChildProcess[] = [];
const silent = (): void => undefined;

beforeAll(async () => {
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

type Line = { readonly message: string; readonly url?: string; readonly error?: string };

/** Starts the process and gives its first log line. */
async function start(changes: Record<string, string> = {}): Promise<readonly [ChildProcess, Line]> {
  const child = spawn(process.execPath, [join(root, 'services/gateway/main.ts')], {
    stdio: ['pipe', 'ignore', 'pipe'],
    env: {
      CORRAL_LISTEN: '127.0.0.1:0',
      CORRAL_FLEET: 'test',
      CORRAL_REDIS: redis.socket,
      CORRAL_ENVIRONMENTS: join(root, 'environments'),
      CORRAL_FLEET_KEY_FILE: join(folder, 'fleet.key'),
      CORRAL_EVENT_LOG_DIR: join(folder, 'events'),
      CORRAL_DEVELOPMENT_KEY: 'secret',
      CORRAL_EXIT_WITH_PARENT: '1',
      ...changes,
    },
  });
  running.push(child);
  const [line] = (await once(createInterface({ input: child.stderr }), 'line')) as [string];
  return [child, JSON.parse(line) as Line];
}

it('the process serves both faces over the real fleet state, and ends cleanly when its parent is gone', async () => {
  const [child, { message, url }] = await start();
  expect(message).toBe('listening');
  const headers = { authorization: 'Bearer secret', 'content-type': 'application/json' };

  const ready = await fetch(`${url ?? ''}/readyz`);
  expect([ready.status, await ready.json()]).toEqual([
    200,
    { status: 'ready', missing: [], limitations: null },
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
