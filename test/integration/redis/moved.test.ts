import { expect, test } from 'vitest';
import { keysOf } from '#src/adapters/redis/keys.ts';
import { sandboxId } from '#src/model/ids.ts';
import { KnownSandboxes } from '#src/pool/known-sandboxes.ts';
import { claimOf, held, keyOf, minute, sandboxOf, worldOfTests, template } from './world.ts';

const key = keysOf('test');
const world = worldOfTests();

const reader = () => new KnownSandboxes(world.fleet.pool);
const all = () => world.fleet.pool.known();
/** More than one portion, so that a reading does not go through all of them. */
const many = 300;

/** What an earlier version does: it changes sandboxes, and tells no move. */
async function silently(work: () => Promise<unknown>): Promise<void> {
  const kept = await world.redis.dumpBuffer(key('moved'));
  const moves = await world.redis.hgetall(key('moves'));
  await work();
  await world.redis.del(key('moved'), key('moves'));
  if (kept !== null) await world.redis.restore(key('moved'), 0, kept);
  if (kept !== null) await world.redis.hset(key('moves'), moves);
}

test('the first reading has all, later ones what has moved and who is forgotten', async () => {
  await world.supply(many);
  const known = reader();
  expect(await known.read()).toEqual(await all());
  const { key: rollout, epoch } = await held(world.fleet, claimOf('a'));
  expect((await known.read()).get(sandboxId(epoch?.sandbox ?? ''))?.owner).toBe(rollout);
  await world.fleet.lifecycle.close(rollout, 'finished');
  await world.fleet.pool.forget(sandboxId(epoch?.sandbox ?? ''));
  expect(await known.read()).toEqual(await all());
});

test('a reading of a fleet in which nothing happens tells a portion, however large the fleet is', async () => {
  await world.supply(many);
  const { pool } = world.fleet;
  const first = await pool.moved('', 50);
  const next = await pool.moved(first.place, 50);
  expect(next.startsOver).toBe(false);
  expect(next.sandboxes.length).toBeLessThan(many / 2);
});

test('what an earlier version has moved without saying so is known after a turn, and what it has forgotten is', async () => {
  const names = (await world.supply(many)).map(sandboxId);
  const known = reader();
  await known.read();
  const [gone = sandboxId('')] = names;
  await silently(async () => {
    await held(world.fleet, claimOf('a'));
    await world.fleet.pool.retire(template, 60 * minute, many - 2);
    await world.fleet.pool.forget(gone);
  });
  for (let reading = 0; reading < 20; reading += 1) await known.read();
  expect(await known.read()).toEqual(await all());
  expect([...(await all()).values()].map(({ owner }) => owner)).toContain(keyOf('a'));
});

test('a Redis that was written back is read again, although it counts its moves on', async () => {
  await world.supply(many);
  const known = reader();
  await known.read();
  const rollout = await held(world.fleet, claimOf('a'));
  // A replica may have missed moves, and have numbered others since: its numbers say nothing of what it missed.
  const { place } = await world.fleet.pool.moved('', 10);
  await world.redis.set(key('recovered'), world.nowMs() + 1);
  expect(await world.fleet.pool.moved(place, 10)).toMatchObject({ startsOver: true });
  await silently(() => world.fleet.lifecycle.close(rollout.key, 'finished'));
  expect((await known.read()).get(sandboxOf(rollout))?.phase).toBe('draining');
});

test('whoever is farther behind than what is kept of the moves reads all again, and no more is kept', async () => {
  await world.supply(2);
  const { place } = await world.fleet.pool.moved('', 10);
  await world.redis.hset(key('moves'), 'last', 20_000);
  const old = Array.from({ length: 10_000 }, (_, index) => [index + 3, `old-${index}`]).flat();
  await world.redis.zadd(key('moved'), ...old.map(String));
  await world.supply(10);
  expect(await world.redis.zcard(key('moved'))).toBeLessThanOrEqual(10_002);
  expect(await world.fleet.pool.moved(place, 10)).toMatchObject({ startsOver: true });
});

test('more moves than one script tells come with the next', async () => {
  await world.supply(1);
  const { place } = await world.fleet.pool.moved('', 10);
  await world.supply(600);
  const first = await world.fleet.pool.moved(place, 0);
  expect(first).toMatchObject({ isBehind: true });
  const rest = await world.fleet.pool.moved(first.place, 0);
  expect(rest.isBehind).toBe(false);
  const names = [...first.sandboxes, ...rest.sandboxes].map(([sandbox]) => sandbox);
  expect(new Set(names).size).toBe(600);
});
