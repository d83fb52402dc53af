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
    settle: () => before.fleet().calls.settle(settlementOf(key, 'c')),
  },
  new: {
    mayCall: async () => world.fleet.calls.admit({ ...(await asked()), sender: 'new' }),
    settle: () => world.fleet.calls.settle(settlementOf(key, 'c')),
  },
} as const;

const keptThere = { ...settlementOf(key, 'c'), answer: null, inJournal: true } as const;

describe.skipIf(!before.isThere)('an answer between two releases', () => {
  test.each([
    ['old', 'new'],
    ['new', 'old'],
  ] as const)('that the %s one has stored, the %s one gives again', async (settles, repeats) => {
    await world.active('a');
    await releases[settles].mayCall();
    await releases[settles].settle();
    const { answer } = settlementOf(key, 'c');
    expect(await releases[repeats].mayCall()).toMatchObject({ kind: 'settled', answer });
  });

  test('that a sandbox alone has, the old one does not give: it refuses, runs nothing and settles nothing', async () => {
    await world.active('a');
    await releases.new.mayCall();
    await world.fleet.calls.settle(keptThere);
    expect(await releases.old.mayCall()).toMatchObject({ kind: 'answer_expired' });
    expect(await releases.old.settle()).toMatchObject({ first: false });
    expect(await releases.new.mayCall()).toMatchObject({ kind: 'in_journal' });
  });

  test('of a call that the old one sent and the new one settled, the sandbox is asked', async () => {
    await world.active('a');
    await releases.old.mayCall();
    await world.fleet.calls.settle(keptThere);
    expect(await world.fleet.calls.lookup(key, call)).toMatchObject({ repeated: { kind: 'in_journal' } });
    expect(await recordOf(world.fleet, key)).toMatchObject({ inFlight: 0 });
  });
});
