import { describe, expect, test } from 'vitest';
import { callId } from '#src/model/ids.ts';
import { previousReleaseNextTo } from '#test/support/release-before.ts';
import { admitOf, keyOf, recordOf, settlementOf, worldOfTests } from './world.ts';

const world = worldOfTests(1);
const key = keyOf('a');
const call = callId('c');

const before = await previousReleaseNextTo(world);

const asked = async () => admitOf(await recordOf(world.fleet, key), 'c');
const releases = {
  old: {
    mayCall: async () => before.fleet().calls.admit(await asked()),
    remove: () => before.fleet().calls.unsent(key, call, true),
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
  test.each(orders)('first the %s one: it is withdrawn with the last of both', async (first, second) => {
    await world.active('a');
    await releases[first].mayCall();
    await releases[second].mayCall();
    await releases[first].remove();
    expect(await isRecorded()).toBe(true);
    await releases[second].remove();
    expect(await isRecorded()).toBe(false);
    expect(await recordOf(world.fleet, key)).toMatchObject({ calls: 1, inFlight: 0 });
  });

  test('the new one removes itself twice, and the old one may still send', async () => {
    await world.active('a');
    await releases.old.mayCall();
    await releases.new.mayCall();
    await releases.new.remove();
    await releases.new.remove();
    expect(await isRecorded()).toBe(true);
  });

  test('the old one withdrew it and it was sent again there: a late removal by the new one changes nothing', async () => {
    await world.active('a');
    await releases.new.mayCall();
    await releases.old.remove();
    expect(await isRecorded()).toBe(false);
    await world.step(1_000);
    await releases.old.mayCall();
    await releases.new.remove();
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
