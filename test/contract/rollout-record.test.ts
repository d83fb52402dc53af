import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { RolloutState } from '#src/model/rollout.ts';
import type { RolloutRecord } from '#src/ports/fleet/records.ts';
import { aRecord } from '../fakes/gateway-core.ts';
import { fakeRollout } from '../fakes/rollout-record.ts';
import {
  admitOf,
  claimOf,
  gradeAsk,
  keyOf,
  minute,
  recordOf,
  settlementOf,
  sandboxOf,
  startWorld,
  type World,
} from '../integration/redis/world.ts';
import { expectTrueRecord } from './rollout-record.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.stop());
beforeEach(() => world.reset());

/** How a rollout of the real fleet comes into each state. */
const ways: Readonly<Record<RolloutState | 'tainted' | 'healing', () => Promise<unknown>>> = {
  waiting: () => world.fleet.claims.claim(claimOf('a')),
  claimed: async () => {
    await world.supply(1);
    await world.fleet.claims.claim(claimOf('a'));
  },
  active: async () => {
    await world.supply(1);
    await world.active('a');
  },
  grading: async () => {
    await ways.active();
    await world.fleet.grades.begin(keyOf('a'), gradeAsk());
  },
  closed: async () => {
    await ways.grading();
    await world.fleet.grades.score(keyOf('a'), 1, 0.5, {});
  },
  expired: async () => {
    await ways.active();
    await world.step(31 * minute);
    await world.fleet.lifecycle.expireDue(10);
  },
  tainted: async () => {
    await ways.active();
    const record = await recordOf(world.fleet, keyOf('a'));
    await world.fleet.lifecycle.lose(sandboxOf(record), null, 'evicted', {});
  },
  healing: async () => {
    await ways.claimed();
    const record = await recordOf(world.fleet, keyOf('a'));
    await world.fleet.calls.admit(admitOf(record, 's1', { setup: { sent: 'x', bytes: 1 } }));
    await world.fleet.calls.settle(settlementOf(keyOf('a'), 's1', { setup: { digest: 'end' } }));
    await world.fleet.lifecycle.lose(sandboxOf(record), null, 'evicted', {});
  },
};

const fieldsOf = (record: RolloutRecord) => Object.keys(record).toSorted();

const names = Object.keys(ways) as readonly (keyof typeof ways)[];

test.each(names)('a rollout of the real fleet that is %s holds together', async (name) => {
  await ways[name]();
  const record = await recordOf(world.fleet, keyOf('a'));
  const stays: Partial<Record<typeof name, RolloutState>> = { tainted: 'active', healing: 'waiting' };
  expect(record.state).toBe(stays[name] ?? name);
  expect(record.healing !== null).toBe(name === 'healing');
  expectTrueRecord(record);
});

describe('the records of tests', () => {
  const states = names.filter((name) => name !== 'tainted' && name !== 'healing');

  test.each(states)('hold together as %s', (state) => {
    expectTrueRecord(fakeRollout({ state }));
    expectTrueRecord(aRecord({ state }));
  });

  test('hold together with a discard', () => {
    const lost = { code: 'sandbox_lost', cause: 'evicted', suspected: null, evidence: {}, atMs: 1 } as const;
    expectTrueRecord(fakeRollout({ discarded: lost }));
  });

  test('have the fields of real ones and no others', async () => {
    await ways.active();
    const real = await recordOf(world.fleet, keyOf('a'));
    expect(fieldsOf(fakeRollout())).toEqual(fieldsOf(real));
  });
});
