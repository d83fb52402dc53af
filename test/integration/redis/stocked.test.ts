import { expect, test } from 'vitest';
import { keysOf } from '#src/adapters/redis/keys.ts';
import { countPools } from '#src/pool/supply.ts';
import { planPools } from '#src/pool/plans.ts';
import { fakeEnvironment, fakeTemplate } from '#test/fakes/environment.ts';
import { createFakeMetrics } from '#test/fakes/metrics.ts';
import { bootId, environmentVersion, sandboxId, templateDigest } from '#src/model/ids.ts';
import { sandboxAddress } from '#src/model/rollout.ts';
import type { PoolTarget } from '#src/ports/fleet/pool.ts';
import { claimOf, commandsOf, keyOf, minute, ownerOf, worldOfTests } from './world.ts';
import { reserveOne } from '#test/support/reserve-one.ts';

const world = worldOfTests();
const keys = keysOf('test');

const heavy = templateDigest('heavy');
const [max, weight, budget] = [8, 4, 8];

/** One pool of a template of weight 4 and of so many that rows made. */
function poolOf(rows: number): readonly PoolTarget[] {
  const shared = { minReady: 0, max, group: 'pool', chosenFor: environmentVersion('v1') };
  const light = Array.from({ length: rows }, (_, index) => ({ template: rowOf(index), ...shared }));
  return [{ template: heavy, weight, ...shared }, ...light];
}

const rowOf = (index: number) => templateDigest(`row-${index}`);

const wait = (rollout: string, template = heavy) =>
  world.fleet.claims.claim(claimOf(rollout, { owner: ownerOf(rollout), template }));

const environment = fakeEnvironment();
const chosenRows = (rows: number) =>
  Array.from({ length: rows }, (_, index) => ({
    environment,
    template: fakeTemplate({ digest: rowOf(index) }),
  }));

let tickets = 0;

async function reserve(targets: readonly PoolTarget[]): Promise<string | null> {
  tickets += 1;
  const sandbox = sandboxId(`s${tickets}`);
  const reserved = await reserveOne(world.fleet.pool, sandbox, targets, budget, minute);
  if (reserved === null) return null;
  await world.fleet.pool.ready(sandbox, bootId('b'), sandboxAddress('unix:/run/s'));
  return reserved.template;
}

/** Commands of the reservation that finds the pool full of rows' sandboxes, next to so many known templates. */
async function commandsNextTo(templates: number): Promise<number> {
  await world.reset();
  const targets = poolOf(templates);
  await world.redis.sadd(keys('templates'), ...targets.map(({ template }) => template));
  for (let index = 0; index < 6; index += 1) {
    await wait(`r${index}`, rowOf(index));
    expect(await reserve(targets)).toBe(rowOf(index));
  }
  await wait('heavy');
  return commandsOf(world.redis, async () => expect(await reserve(targets)).toBeNull());
}

/** Commands of one count of so many planned templates, one of which is in use. */
async function commandsOfCounting(templates: number): Promise<number> {
  await world.reset();
  await wait('r0', rowOf(0));
  await reserve(poolOf(templates));
  const plans = planPools([environment], [], new Map(), chosenRows(templates));
  const tools = { pool: world.fleet.pool, metrics: createFakeMetrics(), plans: () => plans };
  return commandsOf(world.redis, () => countPools(tools));
}

test('a reservation next to 3,000 templates without sandboxes takes as many commands as next to few', async () => {
  expect(await commandsNextTo(3_000)).toBe(await commandsNextTo(10));
});

test('counting the pools next to 3,000 planned templates without sandboxes takes as many commands as next to few', async () => {
  expect(await commandsOfCounting(3_000)).toBe(await commandsOfCounting(10));
});

test('templates whose sandboxes are gone are counted no more', async () => {
  const targets = poolOf(3);
  for (const index of [0, 1, 2]) {
    await wait(`r${index}`, rowOf(index));
    await reserve(targets);
  }
  expect(await world.redis.scard(keys('stocked'))).toBe(3);
  for (const index of [0, 1, 2]) await world.fleet.lifecycle.close(keyOf(`r${index}`), 'deleted');
  for (const rollout of ['a', 'b', 'c']) await wait(rollout);
  expect([await reserve(targets), await reserve(targets), await reserve(targets)]).toEqual([
    heavy,
    heavy,
    null,
  ]);
  expect(await world.redis.smembers(keys('stocked'))).toEqual([heavy]);
});

test('sandboxes that a controller of the previous release has begun count as soon as the pools are counted', async () => {
  const targets = poolOf(1);
  for (const rollout of ['a', 'b']) {
    await wait(rollout);
    expect(await reserve(targets)).toBe(heavy);
  }
  await world.redis.del(keys('stocked'));
  await wait('c');
  await world.fleet.pool.counts([heavy]);
  expect(await reserve(targets)).toBeNull();
});
