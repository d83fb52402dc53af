import { expect, test } from 'vitest';
import { mostAliasBytes, mostAliases } from '#src/adapters/redis/environment-store.ts';
import { tenantId } from '#src/model/ids.ts';
import { worldOfTests } from './world.ts';

const world = worldOfTests();

const [acme, other] = [tenantId('acme'), tenantId('other/tenant')];
const image = (reference: string) => ({ environment: 'sandbox', image: reference });

test('an alias is its tenant’s own, and the last one who gave it is right', async () => {
  const { aliases } = world.fleet;
  expect(await aliases.named(acme, 'task')).toEqual(new Map());
  expect(await aliases.name(acme, 'task', 'default', image('a:1'))).toBe(true);
  expect(await aliases.name(acme, 'task', 'default', image('a:2'))).toBe(true);
  expect(await aliases.named(acme, 'task')).toEqual(new Map([['default', image('a:2')]]));
  expect(await aliases.named(other, 'task')).toEqual(new Map());
});

test('a name has its tags side by side, and 64 besides the usual one', async () => {
  const { aliases } = world.fleet;
  const tags = Array.from({ length: 64 }, (_, at) => `t${at}`);
  for (const tag of tags) expect(await aliases.name(acme, 'tagged', tag, image(`a:${tag}`))).toBe(true);
  expect(await aliases.name(acme, 'tagged', 'one-more', image('a:1'))).toBe(false);
  expect(await aliases.name(acme, 'tagged', 't0', image('a:new'))).toBe(true);
  expect(await aliases.name(acme, 'tagged', 'default', image('a:1'))).toBe(true);
  const named = await aliases.named(acme, 'tagged');
  expect([...named.keys()].toSorted()).toEqual(['default', ...tags].toSorted());
  expect([named.get('t0'), named.get('t63')]).toEqual([image('a:new'), image('a:t63')]);
});

test('a tenant that has as many as it may names no more, and keeps those it has', async () => {
  const { aliases } = world.fleet;
  const [key] = await named(acme);
  const many = Object.fromEntries(Array.from({ length: mostAliases }, (_, at) => [`a${at}`, '{}']));
  await world.redis.hset(key ?? '', many);
  expect(await aliases.name(acme, 'one-more', 'default', image('a:1'))).toBe(false);
  expect(await aliases.name(acme, 'a1', 'default', image('a:1'))).toBe(true);
  expect(await aliases.name(other, 'one-more', 'default', image('a:1'))).toBe(true);
});

test('a tenant keeps as many bytes of names as it may, whatever their number', async () => {
  const { aliases } = world.fleet;
  const script = 'x'.repeat(mostAliasBytes / 4);
  const large = { ...image('a:1'), script };
  for (const name of ['l1', 'l2', 'l3']) expect(await aliases.name(acme, name, 'default', large)).toBe(true);
  expect(await aliases.name(acme, 'l4', 'default', large)).toBe(false);
  expect(await aliases.name(acme, 'l3', 'tagged', large)).toBe(false);
  expect(await aliases.name(acme, 'l1', 'default', image('a:1'))).toBe(true);
  expect(await aliases.name(acme, 'l4', 'default', large)).toBe(true);
});

/** The key of a tenant's aliases, once it has one. */
async function named(tenant: typeof acme): Promise<string[]> {
  await world.fleet.aliases.name(tenant, 'first', 'default', image('a:1'));
  return world.redis.keys('*aliases:acme');
}
