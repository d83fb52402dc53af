import { describe, expect, test } from 'vitest';
import { templateDigest } from '#src/model/ids.ts';
import type { RolloutKey } from '#src/model/rollout.ts';
import { claimOf, keyOf, ownerOf, recordOf, second, worldOfTests, template } from './world.ts';

const world = worldOfTests();

const wait = (name: string, run = 'run-1') =>
  world.fleet.claims.claim(claimOf(name, { owner: ownerOf(name, run) }));

/** Supplies sandboxes one by one and tells who got each. */
async function servedInOrder(count: number, candidates: readonly RolloutKey[]): Promise<readonly string[]> {
  const served: string[] = [];
  for (let index = 0; index < count; index += 1) {
    await world.supply(1);
    for (const key of candidates) {
      const { state, owner } = await recordOf(world.fleet, key);
      if (state === 'claimed' && !served.includes(owner.rollout)) served.push(owner.rollout);
    }
  }
  return served;
}

describe('order', () => {
  test('inside a run it is first come first served', async () => {
    for (const name of ['a', 'b', 'c']) {
      await wait(name);
      await world.step(1);
    }
    expect(
      await servedInOrder(
        3,
        ['a', 'b', 'c'].map((name) => keyOf(name)),
      ),
    ).toEqual(['a', 'b', 'c']);
  });

  test('a small run that comes behind a large one is served in turn with it', async () => {
    for (const name of ['a1', 'a2', 'a3', 'a4']) await wait(name, 'large');
    for (const name of ['b1', 'b2']) await wait(name, 'small');
    const keys = ['a1', 'a2', 'a3', 'a4'].map((name) => keyOf(name, 'large'));
    const small = ['b1', 'b2'].map((name) => keyOf(name, 'small'));
    expect(await servedInOrder(6, [...keys, ...small])).toEqual(['a1', 'b1', 'a2', 'b2', 'a3', 'a4']);
  });

  test('a waiter is told how many are served before it, turns of other runs included', async () => {
    await wait('a1', 'large');
    await wait('a2', 'large');
    await wait('a3', 'large');
    expect(await wait('b1', 'small')).toMatchObject({ kind: 'waiting', ahead: 1 });
    expect(await wait('b2', 'small')).toMatchObject({ kind: 'waiting', ahead: 3 });
    expect(await wait('a3', 'large')).toMatchObject({ kind: 'waiting', ahead: 4 });
  });

  test('a newcomer does not overtake a waiter when a sandbox becomes ready', async () => {
    await wait('a');
    await world.supply(1);
    expect((await wait('b')).kind).toBe('waiting');
    expect((await wait('a')).kind).toBe('held');
  });

  test('templates have lines of their own', async () => {
    await wait('a');
    await world.supply(1, templateDigest('U'));
    const other = await world.fleet.claims.claim(claimOf('b', { template: templateDigest('U') }));
    expect(other.kind).toBe('held');
    expect((await wait('a')).kind).toBe('waiting');
  });
});

describe('a waiter whom nobody renews', () => {
  test('for ten seconds is passed over, and served at its old place when it is renewed', async () => {
    await wait('a');
    await world.step(5 * second);
    await wait('b');
    await wait('c');
    await world.step(6 * second);
    await world.supply(1);
    expect((await recordOf(world.fleet, keyOf('a'))).state).toBe('waiting');
    expect((await recordOf(world.fleet, keyOf('b'))).state).toBe('claimed');
    await world.fleet.claims.renew([keyOf('a'), keyOf('c')]);
    await world.supply(1);
    expect((await recordOf(world.fleet, keyOf('a'))).state).toBe('claimed');
    expect((await recordOf(world.fleet, keyOf('c'))).state).toBe('waiting');
  });

  test('for exactly ten seconds is still served', async () => {
    await wait('a');
    await world.step(10 * second);
    await world.supply(1);
    expect((await recordOf(world.fleet, keyOf('a'))).state).toBe('claimed');
  });

  test('does not keep a newcomer from a ready sandbox', async () => {
    await wait('a');
    await world.step(11 * second);
    await world.supply(1);
    expect((await wait('b')).kind).toBe('held');
  });

  test('for more than 120 s has lost its place, and takes a new one behind the others', async () => {
    await wait('a');
    await world.step(100 * second);
    await wait('b');
    await world.step(21 * second);
    await world.fleet.claims.renew([keyOf('b')]);
    await world.fleet.lifecycle.expireDue(10);
    expect(await wait('a')).toMatchObject({
      kind: 'waiting',
      ahead: 1,
      rollout: { placedAtMs: world.nowMs() },
    });
  });
});

describe('a renewal', () => {
  test('grants what is ready, and says who is to claim again: who was granted, and who is unknown', async () => {
    await wait('a');
    await wait('b');
    await world.step(11 * second);
    await world.supply(1);
    const changed = await world.fleet.claims.renew([keyOf('b'), keyOf('a'), keyOf('nobody')]);
    expect(changed).toEqual(new Set([keyOf('a'), keyOf('nobody')]));
    expect((await wait('a')).kind).toBe('held');
    expect(await wait('b')).toMatchObject({ kind: 'waiting', ahead: 0 });
  });

  test('of a rollout that was closed meanwhile says so', async () => {
    await wait('a');
    await world.fleet.lifecycle.close(keyOf('a'), 'deleted');
    expect(await world.fleet.claims.renew([keyOf('a')])).toEqual(new Set([keyOf('a')]));
    expect(await wait('a')).toMatchObject({ kind: 'refused', code: 'rollout_closed' });
  });

  test('of nobody asks nothing', async () => {
    expect((await world.fleet.claims.renew([])).size).toBe(0);
  });
});

const fill = (count: number, run: string) =>
  Promise.all(Array.from({ length: count }, (_, index) => wait(`${run}-${index}`, run)));

describe('bounds', () => {
  test('the 2,001st waiter of a run is line_full and leaves no record; another run still has room', async () => {
    await fill(2_000, 'full');
    const reply = await wait('one-more', 'full');
    expect(reply).toMatchObject({ kind: 'refused', code: 'line_full', rollout: null });
    expect(await world.fleet.claims.find(ownerOf('one-more', 'full'), 1)).toBeNull();
    expect((await wait('other', 'other')).kind).toBe('waiting');
  });

  test('the 10,001st waiter of the fleet is line_full', async () => {
    for (const run of ['r1', 'r2', 'r3', 'r4', 'r5']) await fill(2_000, run);
    expect(await wait('one-more', 'r6')).toMatchObject({ kind: 'refused', code: 'line_full' });
  });

  test('room comes back when a place is over', async () => {
    await fill(2_000, 'full');
    await world.step(121 * second);
    expect((await wait('one-more', 'full')).kind).toBe('waiting');
  });

  test('a full line does not keep a rollout from a ready sandbox', async () => {
    await fill(2_000, 'full');
    await world.step(11 * second);
    await world.supply(1);
    expect((await wait('one-more', 'full')).kind).toBe('held');
  });
});

test('counts tell of grantable waiters only', async () => {
  await wait('a');
  await world.step(5 * second);
  await wait('b');
  await world.step(6 * second);
  expect((await world.fleet.pool.counts([template]))[0]).toMatchObject({ waiting: 1 });
});

test('counts tell how long the first of those has waited who are still there', async () => {
  const oldest = async () => (await world.fleet.pool.counts([template]))[0]?.oldestWaitMs;
  expect(await oldest()).toBe(0);
  await wait('a');
  await world.step(5 * second);
  await wait('b');
  await world.step(4 * second);
  expect(await oldest()).toBe(9 * second);
  await world.step(2 * second);
  expect(await oldest()).toBe(6 * second);
});

test('whoever stands at the head again has waited since it came', async () => {
  await wait('a');
  await world.step(3 * second);
  await world.supply(1);
  const { generation } = await recordOf(world.fleet, keyOf('a'));
  await world.fleet.claims.swap(keyOf('a'), generation, 'it refused', {});
  await world.step(second);
  expect((await world.fleet.pool.counts([template]))[0]).toMatchObject({
    waiting: 1,
    oldestWaitMs: 4 * second,
  });
});
