import { beforeEach, expect, test } from 'vitest';
import { minute, second, worldOfTests } from './world.ts';

const world = worldOfTests();
beforeEach(async () => {
  for (const catalog of ['old', 'new']) await world.fleet.catalogs.publish(catalog, []);
});

/** Says what a process has, a second after the last one; gives what the fleet goes by then. */
async function hold(holder: string, catalog: string, sinceMs: number | null = null) {
  await world.step(second);
  return (await world.fleet.catalogs.hold(holder, catalog, sinceMs))?.newest;
}

test('a catalog that nobody has published is asked for instead of held', async () => {
  expect(await world.fleet.catalogs.hold('a', 'unheard', null)).toBeNull();
});

test('what came last wins, however often who has the older one says so or is started again', async () => {
  expect(await hold('a', 'old')).toBe('old');
  expect(await hold('b', 'new')).toBe('new');
  expect(await hold('a', 'old')).toBe('new');
  expect(await hold('a, started again', 'old')).toBe('new');
});

test('the older one is the newest again when nobody has the other any more: a rollback', async () => {
  await hold('a', 'old');
  await hold('b', 'new');
  expect(await hold('b', 'old')).toBe('old');
});

test('a process that leaves holds nothing, and still hears the newest', async () => {
  await hold('a', 'old');
  await hold('b', 'new');
  expect(await world.fleet.catalogs.leave('b')).toBe('old');
  expect(await world.fleet.catalogs.leave('a')).toBeNull();
});

test('a process that died holds nothing after half a minute', async () => {
  await hold('a', 'old');
  await hold('b', 'new');
  await world.step(29 * second);
  expect(await hold('a', 'old')).toBe('new');
  await world.step(minute);
  expect(await hold('a', 'old')).toBe('old');
});

test('a Redis that has forgotten everything learns the order again, whoever speaks first', async () => {
  const old = await world.fleet.catalogs.hold('a', 'old', null);
  await world.step(second);
  const recent = await world.fleet.catalogs.hold('b', 'new', null);
  await world.redis.flushall();
  await world.redis.set('test:clock', world.nowMs());
  await world.fleet.adoptRedis('empty');
  for (const catalog of ['old', 'new']) await world.fleet.catalogs.publish(catalog, []);
  expect(await hold('b', 'new', recent?.sinceMs)).toBe('new');
  expect(await hold('a', 'old', old?.sinceMs)).toBe('new');
});

test('what a catalog says is kept for as long as somebody has it, and two weeks more', async () => {
  const day = 24 * 60 * minute;
  await hold('a', 'old');
  const ttlMs = await world.redis.pttl('corral:{test}:catalog:old');
  expect(ttlMs).toBeGreaterThan(13 * day);
  expect(await world.fleet.catalogs.entries('old')).toEqual([]);
  expect(await world.fleet.catalogs.entries('unheard')).toBeNull();
});
