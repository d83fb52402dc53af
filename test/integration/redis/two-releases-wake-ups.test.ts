import { describe, expect, test } from 'vitest';
import type { WakeUp } from '#src/ports/fleet/wake-ups.ts';
import { previousReleaseNextTo } from '#test/support/release-before.ts';
import { claimOf, keyOf, minute, worldOfTests } from './world.ts';

const world = worldOfTests();
const key = keyOf('a');

const before = await previousReleaseNextTo(world);

const fleets = { old: () => before.fleet(), new: () => world.fleet } as const;

const heardBy = (release: keyof typeof fleets) =>
  new Promise<WakeUp>((resolve) => {
    fleets[release]().claims.onWake((woken, wakeUp) => {
      if (woken === key) resolve(wakeUp);
    });
  });

const pairs = [
  ['old', 'new'],
  ['new', 'old'],
] as const;

describe.skipIf(!before.isThere)('with processes of the previous release', () => {
  test('a grant wakes gateways of both, and neither needs a claim', async () => {
    await world.fleet.claims.claim(claimOf('a'));
    const heard = [heardBy('new'), heardBy('old')];
    await world.supply(1);
    for (const wakeUp of await Promise.all(heard))
      expect(wakeUp).toMatchObject({ kind: 'granted', grant: { generation: 1 } });
  });

  test.each(pairs)('an end by the %s one wakes gateways of the %s one', async (ends, hears) => {
    await world.supply(1);
    await world.fleet.claims.claim(claimOf('a', { face: 'native' }));
    const heard = heardBy(hears);
    await world.step(16 * minute);
    await fleets[ends]().lifecycle.expireDue(10);
    expect(['ended', 'verdict']).toContain((await heard).kind);
  });
});
