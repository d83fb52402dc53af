import { describe, expect, test } from 'vitest';
import { bootId, sandboxId } from '#src/model/ids.ts';
import { sandboxAddress } from '#src/model/rollout.ts';
import type { PoolTarget } from '#src/ports/fleet/pool.ts';
import { previousReleaseNextTo } from '#test/support/release-before.ts';
import { reserveOne } from '#test/support/reserve-one.ts';
import { drainingOf, minute, template, worldOfTests } from './world.ts';

const world = worldOfTests();
const before = await previousReleaseNextTo(world);
const targets: readonly PoolTarget[] = [{ template, minReady: 5, max: 10 }];
const budget = 3;

const releases = {
  old: {
    pool: () => before.fleet().pool,
    reserve: (name: string) => reserveOne(before.fleet().pool, sandboxId(name), targets, budget, minute),
  },
  new: {
    pool: () => world.fleet.pool,
    reserve: (name: string) => reserveOne(world.fleet.pool, sandboxId(name), targets, budget, minute),
  },
} as const;

const counts = async () => (await world.fleet.pool.counts([template]))[0];
const [boot, address] = [bootId('b'), sandboxAddress('unix:/run/s')];

const pairs = [
  ['old', 'new'],
  ['new', 'old'],
] as const;

describe.skipIf(!before.isThere)('controllers of two releases', () => {
  test.each(pairs)('share one start budget: first the %s one', async (first, second) => {
    expect(await releases[first].reserve('a')).not.toBeNull();
    expect(await releases[second].reserve('b')).not.toBeNull();
    expect(await releases[first].reserve('c')).not.toBeNull();
    expect(await releases[second].reserve('d')).toBeNull();
  });

  test.each(pairs)(
    'a start that the %s one reserved and the %s one ends fails once',
    async (first, second) => {
      await releases[first].reserve('a');
      for (const release of [second, first])
        await releases[release].pool().launchFailed(sandboxId('a'), 'start_failed', 'exit 1', null);
      expect(await drainingOf(world.fleet)).toEqual(['a']);
      expect(await counts()).toMatchObject({ launching: 0, lastFailure: { code: 'start_failed' } });
    },
  );

  test.each(pairs)('a start of the %s one that hangs is given up by the %s one', async (first, second) => {
    await releases[first].reserve('a');
    await world.step(minute);
    expect(await releases[second].pool().overdueLaunches()).toEqual(['a']);
    expect(await counts()).toMatchObject({ launching: 0, lastFailure: { code: 'start_timeout' } });
  });

  test.each(pairs)('a start of the %s one is ended as ready by the %s one, once', async (first, second) => {
    await releases[first].reserve('a');
    for (const release of [second, first])
      await releases[release].pool().ready(sandboxId('a'), boot, address);
    expect(await counts()).toMatchObject({ launching: 0, ready: 1 });
  });
});
