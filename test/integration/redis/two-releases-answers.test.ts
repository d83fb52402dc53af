import { describe, expect, test } from 'vitest';
import { callId } from '#src/model/ids.ts';
import { previousReleaseNextTo } from '#test/support/release-before.ts';
import { admitOf, keyOf, recordOf, settlementOf, worldOfTests } from './world.ts';

const world = worldOfTests(1);
const key = keyOf('a');
const call = callId('c');

const before = await previousReleaseNextTo(world);

const asked = async () => admitOf(await recordOf(world.fleet, key), 'c');
/** The previous release may also store an answer: `answer`, or `inJournal`. */
const keptThere = { ...settlementOf(key, 'c'), answer: null, inJournal: true };
const refusal = {
  ...settlementOf(key, 'c', { outcome: 'refused', code: 'bad_arguments', admitted: 'no' }),
  answer: '{"output":"wrong"}',
};
const fleets = { old: () => before.fleet(), new: () => world.fleet } as const;
const mayCall = async (by: keyof typeof fleets) =>
  fleets[by]().calls.admit({ ...(await asked()), sender: by });

const pairs = [
  ['old', 'new'],
  ['new', 'old'],
] as const;

describe.skipIf(!before.isThere)('an answer between two releases', () => {
  test.each(pairs)(
    'of a call that the %s one settled, the %s one asks its sandbox',
    async (settles, repeats) => {
      await world.active('a');
      await mayCall(settles);
      await fleets[settles]().calls.settle(keptThere);
      expect(await mayCall(repeats)).toMatchObject({ kind: 'in_journal' });
      expect(await fleets[repeats]().calls.settle(keptThere)).toMatchObject({ first: false });
    },
  );

  test.each(pairs)(
    'of a call that the %s one sent and the %s one settled, the sandbox is asked',
    async (sends, settles) => {
      await world.active('a');
      await mayCall(sends);
      await fleets[settles]().calls.settle(keptThere);
      for (const fleet of Object.values(fleets))
        expect(await fleet().calls.lookup(key, call)).toMatchObject({ repeated: { kind: 'in_journal' } });
      expect(await recordOf(world.fleet, key)).toMatchObject({ inFlight: 0 });
    },
  );

  test.each(pairs)(
    'that ran nothing and that the %s one recorded, the %s one gives again',
    async (settles, repeats) => {
      await world.active('a');
      await fleets[settles]().calls.settle(refusal);
      expect(await mayCall(repeats)).toMatchObject({
        kind: 'ran_nothing',
        summary: { code: 'bad_arguments' },
      });
    },
  );
});
