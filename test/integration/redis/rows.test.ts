import { describe, expect, test } from 'vitest';
import { tenantId } from '#src/model/ids.ts';
import { rolloutKey } from '#src/model/rollout.ts';
import { claimOf, keyOf, ownerOf, recordOf, worldOfTests, tenant } from './world.ts';

const world = worldOfTests();

const long = JSON.stringify({ id: 'task-1', text: 'x'.repeat(1_000) });
const open = (name: string, item: string | null = long) => world.fleet.claims.claim(claimOf(name, { item }));
const finish = (name: string) => world.fleet.lifecycle.close(keyOf(name), 'finished');
const row = (name: string) => world.fleet.claims.row(keyOf(name));
const keysLike = (pattern: string) => world.redis.keys(`*:${pattern}`);
const bytesKey = `row-bytes:${tenant}`;
const prefixed = (key: string) => `corral:{test}:${key}`;

describe('the dataset row', () => {
  test('of a group of sixteen is kept once, until the last of them is over', async () => {
    const group = Array.from({ length: 16 }, (_, index) => `r${index}`);
    await Promise.all(group.map((name) => open(name)));
    expect(await keysLike('row:*')).toHaveLength(1);
    expect(Number(await world.redis.get(prefixed(bytesKey)))).toBe(long.length);
    const [last = '', ...others] = group;
    await Promise.all(others.map(finish));
    expect(await row(last)).toBe(long);
    expect(await row('r1')).toBeNull();
    await finish(last);
    expect(await keysLike('row*')).toEqual([]);
  });

  test('is of one tenant: another that has the same keeps its own', async () => {
    await open('a');
    const owner = { ...ownerOf('a'), tenant: tenantId('other') };
    await world.fleet.claims.claim(claimOf('a', { owner, item: long }));
    expect(await keysLike('row:*')).toHaveLength(2);
    await finish('a');
    expect(await world.fleet.claims.row(rolloutKey(owner))).toBe(long);
  });

  test('does not travel with the record of its rollout', async () => {
    const reply = await open('a');
    expect(JSON.stringify([reply, await recordOf(world.fleet, keyOf('a'))])).not.toContain('xxx');
  });

  test('that is not there any more is kept again when it is sent again', async () => {
    await open('a');
    await world.redis.del(await keysLike('row:*'));
    expect(await row('a')).toBeNull();
    await open('a', JSON.stringify({ id: 'task-1', text: 'another' }));
    expect(await row('a')).toContain('another');
  });
});
