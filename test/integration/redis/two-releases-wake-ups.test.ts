import { describe, expect, test } from 'vitest';
import type { WakeUp } from '#src/ports/fleet/wake-ups.ts';
import { previousReleaseNextTo } from '#test/support/release-before.ts';
import { claimOf, keyOf, minute, worldOfTests } from './world.ts';

const world = worldOfTests();
const key = keyOf('a');

const before = await previousReleaseNextTo(world);

const heardByNew = () =>
  new Promise<WakeUp>((resolve) => {
    world.fleet.claims.onWake((woken, wakeUp) => {
      if (woken === key) resolve(wakeUp);
    });
  });

const heardByOld = () => new Promise<string>((resolve) => before.fleet().claims.onWake(resolve));

describe.skipIf(!before.isThere)('with processes of the previous release', () => {
  test('a grant by the new one wakes gateways of both, and the new one needs no claim', async () => {
    await world.fleet.claims.claim(claimOf('a'));
    const [byNew, byOld] = [heardByNew(), heardByOld()];
    await world.supply(1);
    expect(await byNew).toMatchObject({ kind: 'granted', grant: { generation: 1 } });
    expect(await byOld).toBe(key);
  });

  test('an end by the old one wakes the new gateway, which then looks', async () => {
    await world.supply(1);
    await before.fleet().claims.claim(claimOf('a', { face: 'native' }));
    const byNew = heardByNew();
    await world.step(16 * minute);
    await before.fleet().lifecycle.expireDue(10);
    expect(await byNew).toEqual({ kind: 'unknown' });
  });
});
