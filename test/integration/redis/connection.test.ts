import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Redis } from 'ioredis';
import { connectFleetState, type FleetState } from '#src/adapters/redis/fleet-state.ts';
import { startRedis, type PrivateRedis } from '#test/support/redis.ts';
import { claimOf, keyOf, settlementOf } from './world.ts';

let server: PrivateRedis;
let fleet: FleetState;
beforeEach(async () => {
  server = await startRedis({ onDisk: true });
  fleet = await connect();
});
afterEach(async () => {
  await fleet.close();
  await server.stop();
});

const connect = (name = 'test', commandTimeoutMs = 2_000) =>
  connectFleetState({ url: server.socket, fleet: name, commandTimeoutMs, onTrouble: () => undefined });

/** Asks until the connection is there again. */
async function codeOf(ask: () => Promise<unknown>): Promise<unknown> {
  for (;;) {
    const code = await ask().then(
      () => 'fine',
      (thrown: unknown) => (thrown instanceof Error && 'code' in thrown ? thrown.code : thrown),
    );
    if (code !== 'state_unavailable') return code;
    await new Promise((resolve) => {
      setTimeout(resolve, 10);
    });
  }
}

describe('which Redis', () => {
  test('before it was adopted everything is recovering', async () => {
    await expect(fleet.claims.claim(claimOf('a'))).rejects.toMatchObject({ code: 'recovering' });
    await expect(fleet.ping()).rejects.toMatchObject({ code: 'recovering' });
  });

  test('an empty one is adopted once; a second controller finds it done', async () => {
    expect(await fleet.adoptRedis('empty')).toBe('adopted');
    expect(await fleet.adoptRedis('empty')).toBe('already');
    await fleet.ping();
  });

  test('one that was restarted empty is recovering until it is adopted, then works without a reconnect', async () => {
    await fleet.adoptRedis('empty');
    await fleet.claims.claim(claimOf('a'));
    await server.restart('nothing');
    expect(await codeOf(() => fleet.claims.claim(claimOf('a')))).toBe('recovering');
    expect(await fleet.adoptRedis('empty')).toBe('adopted');
    expect((await fleet.claims.claim(claimOf('a'))).kind).toBe('waiting');
  });

  test('one that came back with what it held is not taken for empty, and adopted as persisted it goes on', async () => {
    await fleet.adoptRedis('empty');
    await fleet.claims.claim(claimOf('a'));
    await server.restart('persisted');
    expect(await codeOf(() => fleet.ping())).toBe('recovering');
    expect(await fleet.adoptRedis('empty')).toBe('refused');
    expect(await fleet.adoptRedis('persisted')).toBe('adopted');
    expect((await fleet.claims.find(claimOf('a').owner, 1))?.state).toBe('waiting');
  });

  test('one whose settings are changed while it serves is told of as it is now', async () => {
    await fleet.adoptRedis('empty');
    const operator = new Redis(server.socket);
    await operator.config('SET', 'maxmemory-policy', 'volatile-lru');
    await operator.config('SET', 'maxmemory', '300mb');
    operator.disconnect();
    expect(await fleet.health()).toMatchObject({
      state: 'up',
      server: { evictionPolicy: 'volatile-lru', memoryLimitBytes: 300 * 1_024 * 1_024 },
    });
  });

  test('a restart is seen by every connection, not only by the one that adopts', async () => {
    const other = await connect();
    await fleet.adoptRedis('empty');
    await other.ping();
    await server.restart('nothing');
    expect(await codeOf(() => other.ping())).toBe('recovering');
    await codeOf(() => fleet.adoptRedis('empty'));
    expect(await codeOf(() => other.ping())).toBe('fine');
    await other.close();
  });
});

describe('a Redis that does not answer', () => {
  test('is state_unavailable after the command timeout', async () => {
    // Long enough to connect on a busy machine.
    const hasty = await connect('test', 1_000);
    await fleet.adoptRedis('empty');
    server.freeze();
    await expect(hasty.claims.claim(claimOf('a'))).rejects.toMatchObject({ code: 'state_unavailable' });
    server.thaw();
    await hasty.close();
  });

  test('is state_unavailable at once while there is no connection: nothing queues up', async () => {
    await fleet.adoptRedis('empty');
    await server.stop();
    await expect(fleet.claims.claim(claimOf('a'))).rejects.toMatchObject({ code: 'state_unavailable' });
    await expect(fleet.ping()).rejects.toMatchObject({ code: 'state_unavailable' });
  });

  test('at the start is state_unavailable, and leaves no connection behind', async () => {
    await server.stop();
    await expect(connect()).rejects.toMatchObject({ code: 'state_unavailable' });
  });
});

test('messages come again after Redis was restarted', async () => {
  await fleet.adoptRedis('empty');
  await server.restart('nothing');
  await codeOf(() => fleet.adoptRedis('empty'));
  const hinted = new Promise<void>((resolve) => {
    fleet.pool.onWork(resolve);
  });
  const redis = new Redis(server.socket);
  while (((await redis.pubsub('NUMSUB', 'corral:{test}:work')) as [string, number])[1] === 0) {
    await redis.ping();
  }
  redis.disconnect();
  await fleet.claims.claim(claimOf('a'));
  await hinted;
});

test('a listener that stopped hears nothing more', async () => {
  await fleet.adoptRedis('empty');
  const heard: string[] = [];
  const stop = fleet.pool.onWork(() => heard.push('stopped one'));
  const hinted = new Promise<void>((resolve) => {
    fleet.pool.onWork(resolve);
  });
  stop();
  await fleet.claims.claim(claimOf('a'));
  await hinted;
  expect(heard).toEqual([]);
});

test('two fleets share a Redis without seeing each other', async () => {
  const other = await connect('other');
  await fleet.adoptRedis('empty');
  await other.adoptRedis('empty');
  await fleet.claims.claim(claimOf('a'));
  expect(await other.claims.find(claimOf('a').owner, 1)).toBeNull();
  await other.close();
});

test("Redis' own clock is used where no test replaces it", async () => {
  await fleet.adoptRedis('empty');
  const before = Date.now();
  const { rollout } = await fleet.claims.claim(claimOf('a'));
  expect(rollout?.placedAtMs).toBeGreaterThanOrEqual(before - 1_000);
  expect(rollout?.placedAtMs).toBeLessThanOrEqual(Date.now() + 1_000);
  await expect(fleet.calls.settle(settlementOf(keyOf('nobody'), 'c'))).rejects.toMatchObject({
    code: 'rollout_unknown',
  });
});
