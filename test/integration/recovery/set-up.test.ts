import { expect, test } from 'vitest';
import { callId, type SandboxId, rolloutId } from '#src/model/ids.ts';
import { rolloutKey } from '#src/model/rollout.ts';
import { caller } from '#test/support/core-world.ts';
import { ownerOf, RecoveryWorld } from './world.ts';

const trainer = { ...caller, face: 'native' } as const;
const a = rolloutKey(ownerOf('a'));

const exec = ({ core }: RecoveryWorld, call: string, setup = false) =>
  core.wired.core.exec(trainer, {
    rollout: { rollout: rolloutId('a'), attempt: null },
    call: callId(call),
    argv: ['run', call],
    timeoutMs: 30_000,
    waitMs: core.waitMs,
    setup,
  });

/** A rollout with two calls of set-up. */
async function setUp(world: RecoveryWorld): Promise<SandboxId> {
  const sandbox = await world.ready();
  await world.core.open('a');
  await exec(world, 's1', true);
  await exec(world, 's2', true);
  return sandbox;
}

async function lose(world: RecoveryWorld, sandbox: SandboxId): Promise<void> {
  world.link.kill(sandbox);
  world.provider.end(sandbox, 'evicted');
  await world.core.state.lifecycle.lose(sandbox, null, 'evicted', {});
}

test('an emptied Redis loses the rollout of a sandbox in which set-up was replayed', async () => {
  await using world = await RecoveryWorld.start();
  await lose(world, await setUp(world));
  const next = await world.ready();
  await exec(world, 's3', true);
  await world.forgetAll();
  expect(await world.recover()).toEqual({ given_up: 1 });
  await expect(exec(world, 'policy')).rejects.toMatchObject({ code: 'rollout_unknown' });
  await expect(world.core.open('a')).rejects.toMatchObject({ code: 'sandbox_lost' });
  expect(await world.core.state.pool.draining(10)).toEqual([next]);
});

test('a copy that missed the replay discards the rollout: neither sandbox has all of its state for certain', async () => {
  await using world = await RecoveryWorld.start();
  const first = await setUp(world);
  const before = await world.record('a');
  await lose(world, first);
  await world.ready();
  await exec(world, 'policy');
  world.link.start(first, 'boot-1');
  await world.promote(async (redis, key) => {
    await redis.hdel(key('rollout', a), 'heals', 'healing');
    const { generation } = before;
    await redis.hset(key('rollout', a), { sandbox: first, boot: 'boot-1', state: 'active', generation });
    await redis.hset(key('sandbox', first), { phase: 'ready', owner: a });
  });
  await world.recover();
  expect(await world.record('a')).toMatchObject({
    discarded: { code: 'sandbox_lost', cause: 'pod_replaced' },
  });
  await expect(exec(world, 'next')).rejects.toMatchObject({ code: 'sandbox_lost' });
});

test('a copy that has the end of the replay goes on in the sandbox that got it', async () => {
  await using world = await RecoveryWorld.start();
  await lose(world, await setUp(world));
  const next = await world.ready();
  await exec(world, 'policy');
  await world.promote(async () => undefined);
  expect(await world.recover()).toMatchObject({ live: 1 });
  expect(await exec(world, 'another')).toMatchObject({ outcome: 'completed', epoch: { sandbox: next } });
  expect(world.link.ran).toEqual(['s1', 's2', 's1', 's2', 'policy', 'another']);
});

test('set-up that an emptied Redis has forgotten goes on, and its loss is a loss', async () => {
  await using world = await RecoveryWorld.start();
  const sandbox = await setUp(world);
  await world.forgetAll();
  await world.recover();
  expect(await exec(world, 's3', true)).toMatchObject({ outcome: 'completed' });
  await lose(world, sandbox);
  await world.ready();
  await expect(exec(world, 'policy')).rejects.toMatchObject({ code: 'sandbox_lost' });
});

test('a replay that would go on in another Redis discards the rollout', async () => {
  await using world = await RecoveryWorld.start();
  await lose(world, await setUp(world));
  await world.ready();
  await world.core.state.claims.renew([a]);
  await world.promote((redis, key) => redis.hset(key('setup', a), 'redis', 'the one before'));
  await world.recover();
  await expect(exec(world, 'policy')).rejects.toMatchObject({ code: 'sandbox_lost' });
  expect(world.link.ran).toEqual(['s1', 's2']);
});
