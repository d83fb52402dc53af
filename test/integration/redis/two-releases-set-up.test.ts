import { describe, expect, test } from 'vitest';
import { runId } from '#src/model/ids.ts';
import type { RolloutRecord } from '#src/ports/fleet/records.ts';
import { previousReleaseNextTo } from '#test/support/release-before.ts';
import {
  admitOf,
  claimOf,
  held,
  keyOf,
  minute,
  recordOf,
  sandboxOf,
  settlementOf,
  tenant,
  worldOfTests,
} from './world.ts';

const world = worldOfTests(4);
const key = keyOf('a');
const native = claimOf('a', { face: 'native' });

const before = await previousReleaseNextTo(world);

const record = () => recordOf(world.fleet, key);
const asSetup = { budget: null, setup: { sent: 'x', bytes: 1 } } as const;

const fleets = { old: () => before.fleet(), new: () => world.fleet } as const;
type Release = keyof typeof fleets;

/** A rollout whose one call of set-up a gateway of this release has handled. */
async function setUpBy(release: Release): Promise<RolloutRecord> {
  const { calls } = fleets[release]();
  const rollout = await held(world.fleet, native);
  await calls.admit(admitOf(rollout, 's1', asSetup));
  const ranIn = sandboxOf(rollout);
  await calls.settle(settlementOf(key, 's1', { setup: { digest: 'end' }, ranIn }));
  return record();
}

const loseBy = async (release: Release) =>
  fleets[release]().lifecycle.lose(sandboxOf(await record()), null, 'evicted', {});

async function replayBy(release: Release) {
  const { setups } = fleets[release]();
  const { generation } = await record();
  const first = await setups.replay(key, generation, null);
  return first.kind === 'step' ? setups.replay(key, generation, { step: 1, digest: 'end' }) : first;
}

const discards = async () => (await world.fleet.reports.run(tenant, runId('run-1')))?.discarded;

const pairs = [
  ['old', 'new'],
  ['new', 'old'],
] as const;

describe.skipIf(!before.isThere)('with a gateway and a controller of the previous release', () => {
  test.each(pairs)('set-up by the %s one heals with the %s one, and both go on', async (sets, heals) => {
    await setUpBy(sets);
    expect(await loseBy(heals)).toMatchObject({ kind: 'swapped' });
    const now = await record();
    for (const fleet of Object.values(fleets))
      expect(await fleet().calls.admit(admitOf(now, 'early'))).toMatchObject({ kind: 'not_active' });
    expect(await replayBy(sets)).toEqual({ kind: 'done' });
    expect(await fleets[heals]().calls.admit(admitOf(now, 'c1'))).toMatchObject({ kind: 'dispatch' });
    expect(await fleets[sets]().calls.admit(admitOf(now, 'c2'))).toMatchObject({ kind: 'dispatch' });
    expect(await record()).toMatchObject({ state: 'active', verdict: 'open', discarded: null, heals: 1 });
    expect(await discards()).toBe(0);
  });

  test.each(pairs)(
    'a call of the %s one ends set-up for the %s one, and a loss is one',
    async (calls, other) => {
      const rollout = await setUpBy(other);
      expect(await fleets[calls]().calls.admit(admitOf(rollout, 'c1'))).toMatchObject({ kind: 'dispatch' });
      expect(await fleets[other]().calls.admit(admitOf(rollout, 's2', asSetup))).toEqual({
        kind: 'setup_over',
      });
      expect(await loseBy(other)).toMatchObject({ kind: 'tainted' });
      expect(await record()).toMatchObject({ heals: 0, discarded: { code: 'sandbox_lost' } });
    },
  );

  test.each(pairs)('set-up of both, first by the %s one, is one set-up', async (first, second) => {
    const rollout = await setUpBy(first);
    const { calls } = fleets[second]();
    await calls.admit(admitOf(rollout, 's2', asSetup));
    await calls.settle(settlementOf(key, 's2', { setup: { digest: 'end' }, ranIn: sandboxOf(rollout) }));
    expect(await loseBy(first)).toMatchObject({ kind: 'swapped' });
    expect(await replayBy(second)).toMatchObject({ kind: 'step' });
  });

  test('one that the old controller expires while it heals is never scored', async () => {
    await setUpBy('new');
    await loseBy('new');
    await world.step(31 * minute);
    await before.fleet().lifecycle.expireDue(10);
    expect(await record()).toMatchObject({ state: 'expired', score: null, verdict: 'discarded' });
  });
});
