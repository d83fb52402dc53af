import { expect, test } from 'vitest';
import { mostAliases } from '#src/adapters/redis/environment-store.ts';
import { tenantId } from '#src/model/ids.ts';
import { worldOfTests } from './world.ts';

const world = worldOfTests();

const [acme, other] = [tenantId('acme'), tenantId('other/tenant')];
const image = (reference: string) => ({ environment: 'sandbox', image: reference });

test('an alias is its tenant’s own, and the last one who gave it is right', async () => {
  const { aliases } = world.fleet;
  expect(await aliases.named(acme, 'task')).toBeNull();
  expect(await aliases.name(acme, 'task', image('a:1'))).toBe(true);
  expect(await aliases.name(acme, 'task', image('a:2'))).toBe(true);
  expect(await aliases.named(acme, 'task')).toEqual(image('a:2'));
  expect(await aliases.named(other, 'task')).toBeNull();
});

test('a tenant that has as many as it may names no more, and keeps those it has', async () => {
  const { aliases } = world.fleet;
  const [key] = await named(acme);
  const many = Object.fromEntries(Array.from({ length: mostAliases }, (_, at) => [`a${at}`, '{}']));
  await world.redis.hset(key ?? '', many);
  expect(await aliases.name(acme, 'one-more', image('a:1'))).toBe(false);
  expect(await aliases.name(acme, 'a1', image('a:1'))).toBe(true);
  expect(await aliases.name(other, 'one-more', image('a:1'))).toBe(true);
});

/** The key of a tenant's aliases, once it has one. */
async function named(tenant: typeof acme): Promise<string[]> {
  await world.fleet.aliases.name(tenant, 'first', image('a:1'));
  return world.redis.keys('*aliases:acme');
}
