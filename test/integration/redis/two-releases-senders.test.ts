import { describe, expect, test } from 'vitest';
import { callId } from '#src/model/ids.ts';
import { previousReleaseNextTo } from '#test/support/release-before.ts';
import { admitOf, keyOf, minute, recordOf, settlementOf, worldOfTests } from './world.ts';

const world = worldOfTests(1);
const key = keyOf('a');
const call = callId('c');

const before = await previousReleaseNextTo(world);

const asked = async () => admitOf(await recordOf(world.fleet, key), 'c');
const releases = {
  old: {
    mayCall: async () => before.fleet().calls.admit({ ...(await asked()), sender: 'old' }),
    remove: () => before.fleet().calls.unsent(key, call, 'old', true),
  },
  new: {
    mayCall: async () => world.fleet.calls.admit({ ...(await asked()), sender: 'new' }),
    remove: () => world.fleet.calls.unsent(key, call, 'new', true),
  },
} as const;

const isRecorded = async () => (await world.fleet.calls.lookup(key, call)) !== null;

const orders = [
  ['old', 'new'],
  ['new', 'old'],
] as const;

describe.skipIf(!before.isThere)('a call that gateways of two releases may send', () => {
  test('first the new one: it is withdrawn with the last of both', async () => {
    await world.active('a');
    await releases.new.mayCall();
    await releases.old.mayCall();
    await releases.new.remove();
    expect(await isRecorded()).toBe(true);
    await releases.old.remove();
    expect(await isRecorded()).toBe(false);
    expect(await recordOf(world.fleet, key)).toMatchObject({ calls: 1, inFlight: 0 });
  });

  test('first the old one: it is left to the controllers, and never withdrawn too early', async () => {
    await world.active('a');
    await releases.old.mayCall();
    await releases.new.mayCall();
    await releases.new.remove();
    await releases.new.remove();
    expect(await isRecorded()).toBe(true);
    await releases.old.remove();
    await world.step(60 * minute);
    const [overdue] = await world.fleet.calls.overdue(0, 1_000, 10);
    if (overdue !== undefined) await world.fleet.calls.withdraw(overdue, true);
    expect(await isRecorded()).toBe(false);
  });

  test.each(orders)(
    'the %s one removes itself twice, and the %s one may still send',
    async (twice, other) => {
      await world.active('a');
      await releases[other].mayCall();
      await releases[twice].mayCall();
      await releases[twice].remove();
      await releases[twice].remove();
      expect(await isRecorded()).toBe(true);
    },
  );

  test.each(orders)('a late removal by the %s one leaves a later try of the %s one', async (late, later) => {
    await world.active('a');
    await releases[late].mayCall();
    await releases[late].remove();
    expect(await isRecorded()).toBe(false);
    await world.step(1_000);
    await releases[later].mayCall();
    await releases[late].remove();
    expect(await isRecorded()).toBe(true);
  });

  test.each(orders)('the %s one settles what the %s one has sent', async (settles, sends) => {
    await world.active('a');
    await releases[sends].mayCall();
    const fleet = settles === 'old' ? before.fleet() : world.fleet;
    expect(await fleet.calls.settle(settlementOf(key, 'c'))).toMatchObject({ first: true });
    expect(await recordOf(world.fleet, key)).toMatchObject({ inFlight: 0 });
  });
});
