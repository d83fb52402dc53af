import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { freePort } from '#cli/fleet/free-port.ts';
import type { HandleLaunch } from '#src/ports/launch-queue.ts';
import { createLaunchQueue } from '#src/adapters/bullmq/launch-queue.ts';
import { connectFleetState } from '#src/adapters/redis/fleet-state.ts';
import { fakeLaunch } from '#test/fakes/launch-queue.ts';
import { type PrivateRedis, startRedis } from '#test/support/redis.ts';
import { type RedisProxy, standBeforeRedis } from '#test/support/redis-proxy.ts';
import { claimOf } from './world.ts';

/** What an operator is promised. */
const backWithinMs = 10_000;
/** Long enough that every connection waits for something: a blocking read, a message, an answer. */
const settledMs = 1_500;

let folder: string;
let server: PrivateRedis;
let successor: PrivateRedis | null = null;
let proxy: RedisProxy;
let passwordFile: string;
let running: Awaited<ReturnType<typeof startProcess>>;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-password-'));
  passwordFile = join(folder, 'password');
  await writeFile(passwordFile, '');
  server = await startRedis();
  proxy = await standBeforeRedis(server.socket);
  running = await startProcess();
  await sleep(settledMs);
});
afterEach(async () => {
  await running.stop();
  await proxy.close();
  await server.stop();
  await successor?.stop();
  successor = null;
  await rm(folder, { recursive: true });
});

/** Every kind of connection that a gateway or a controller has: scripts, messages, and BullMQ's three. */
async function startProcess() {
  const files = { username: null, password: passwordFile, sentinelPassword: null, ca: null };
  const reach = { url: server.socket, redis: server.socket, files, fleet: 'test' };
  const state = await connectFleetState({ ...reach, commandTimeoutMs: 2_000, onTrouble: () => undefined });
  await state.adoptRedis('empty');
  const queue = createLaunchQueue({ ...reach, onError: () => undefined });
  const stopping = new AbortController();
  const worked: string[] = [];
  let heard = 0;
  state.pool.onWork(() => (heard += 1));
  const handle: HandleLaunch = async ({ launch }) => {
    worked.push(launch.sandbox);
    return { kind: 'over' };
  };
  const working = queue.work(2, handle, stopping.signal);
  return {
    state,
    worksBy: async (deadlineMs: number) => {
      await until(deadlineMs, 'scripts', () => state.adoptRedis('persisted'));
      await until(deadlineMs, 'messages', async () => {
        const before = heard;
        await state.claims.claim(claimOf(`rollout-${performance.now()}`));
        await sleep(50);
        if (heard === before) throw new Error('no message was heard');
      });
      await until(deadlineMs, 'launches', async () => {
        const before = worked.length;
        await queue.add([fakeLaunch(`s-${performance.now()}`)]);
        await sleep(300);
        if (worked.length === before) throw new Error('no launch was run');
      });
    },
    stop: async () => {
      stopping.abort();
      await working;
      await queue.close();
      await state.close();
    },
  };
}

async function until(deadlineMs: number, what: string, attempt: () => Promise<unknown>): Promise<void> {
  for (;;) {
    const thrown = await attempt().then(
      () => null,
      (error: unknown) => error,
    );
    if (thrown === null) return;
    if (performance.now() > deadlineMs) throw new Error(`${what} are not back`, { cause: thrown });
    await sleep(50);
  }
}

const worksWithin = (durationMs: number) => running.worksBy(performance.now() + durationMs);

async function asked(socket: string, name: string, ...rest: readonly string[]): Promise<unknown> {
  const client = new Redis(socket);
  try {
    return await client.call(name, ...rest);
  } finally {
    client.disconnect();
  }
}

test('connections that are silent without being closed are given up, and all is back within 10 s', async () => {
  await worksWithin(backWithinMs);
  proxy.silence();
  await worksWithin(backWithinMs);
});

test('a Redis that answers nobody at all for a while is back within 10 s of its first answer', async () => {
  proxy.silence();
  proxy.mute(true);
  await sleep(8_000);
  proxy.mute(false);
  await worksWithin(backWithinMs);
});

test('a Redis that became a replica under open connections is left for its successor within 10 s', async () => {
  const [port, portAfter] = [String(await freePort(0)), String(await freePort(0))];
  successor = await startRedis();
  const real = `${server.socket}.real`;
  await asked(real, 'CONFIG', 'SET', 'port', port);
  const { socket } = successor;
  await asked(socket, 'REPLICAOF', '127.0.0.1', port);
  await expect.poll(() => asked(socket, 'ROLE')).toContain('connected');
  await asked(socket, 'CONFIG', 'SET', 'port', portAfter);
  proxy.redirect(socket);
  await asked(socket, 'REPLICAOF', 'NO', 'ONE');
  await asked(real, 'REPLICAOF', '127.0.0.1', portAfter);
  await worksWithin(backWithinMs);
});

test('a Redis that becomes writable again where it was is used again within 10 s', async () => {
  const real = `${server.socket}.real`;
  await asked(real, 'REPLICAOF', '127.0.0.1', '1');
  await sleep(3_000);
  await asked(real, 'REPLICAOF', 'NO', 'ONE');
  await worksWithin(backWithinMs);
});

test('a password that was changed, in Redis first and in its file a while later, lets everybody in again within 10 s', async () => {
  const real = `${server.socket}.real`;
  await asked(real, 'CONFIG', 'SET', 'requirepass', 'another');
  const admin = new Redis(real, { password: 'another' });
  for (const type of ['normal', 'pubsub']) await admin.call('CLIENT', 'KILL', 'TYPE', type);
  admin.disconnect();
  await sleep(4_000);
  await writeFile(passwordFile, 'another\n');
  await worksWithin(backWithinMs);
});
