import { describe, expect, test } from 'vitest';
import { keysOf } from '#src/adapters/redis/keys.ts';
import { runId } from '#src/model/ids.ts';
import type { RolloutRecord } from '#src/ports/fleet/records.ts';
import { type FleetBefore, previousReleaseNextTo } from '#test/support/release-before.ts';
import {
  admitOf,
  claimOf,
  gradeAsk,
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

/** A rollout whose one call of set-up a gateway of this release has handled. */
async function setUp(): Promise<RolloutRecord> {
  const rollout = await held(world.fleet, native);
  await world.fleet.calls.admit(admitOf(rollout, 's1', asSetup));
  const ranIn = sandboxOf(rollout);
  await world.fleet.calls.settle(settlementOf(key, 's1', { setup: { digest: 'end' }, ranIn }));
  return record();
}

const lose = async (fleet: Pick<FleetBefore, 'lifecycle'>) =>
  fleet.lifecycle.lose(sandboxOf(await record()), null, 'evicted', {});

/** Its sandbox was lost, as a controller of this release has told. */
async function healing(): Promise<{ readonly lost: RolloutRecord; readonly now: RolloutRecord }> {
  const lost = await setUp();
  expect(await lose(world.fleet)).toMatchObject({ kind: 'swapped' });
  return { lost, now: await record() };
}

async function replay() {
  const { setups } = world.fleet;
  const { generation } = await record();
  const first = await setups.replay(key, generation, null);
  return first.kind === 'step' ? setups.replay(key, generation, { step: 1, digest: 'end' }) : first;
}

const discards = async () => (await world.fleet.reports.run(tenant, runId('run-1')))?.discarded;

describe.skipIf(!before.isThere)('with a gateway and a controller of the previous release', () => {
  test('a call that the old gateway has sent ends set-up: a mark is refused, and a loss is one', async () => {
    const rollout = await setUp();
    expect(await before.fleet().calls.admit(admitOf(rollout, 'c1'))).toMatchObject({ kind: 'dispatch' });
    expect(await world.fleet.calls.admit(admitOf(rollout, 's2', asSetup))).toEqual({ kind: 'setup_over' });
    expect(await lose(world.fleet)).toMatchObject({ kind: 'tainted' });
    expect(await record()).toMatchObject({ heals: 0, discarded: { code: 'sandbox_lost' } });
  });

  test('what the old gateway has sent does not count as set-up', async () => {
    const rollout = await held(world.fleet, native);
    await before.fleet().calls.admit(admitOf(rollout, 's1', { budget: null }));
    await before.fleet().calls.settle(settlementOf(key, 's1'));
    expect(await world.fleet.calls.admit(admitOf(rollout, 's2', asSetup))).toEqual({ kind: 'setup_over' });
    expect(await lose(world.fleet)).toMatchObject({ kind: 'tainted' });
  });

  test('a loss that the old controller tells of discards the rollout, as it ever did', async () => {
    await setUp();
    expect(await lose(before.fleet())).toMatchObject({ kind: 'tainted' });
    expect(await record()).toMatchObject({ discarded: { code: 'sandbox_lost' } });
    expect(await discards()).toBe(1);
  });

  test('while a rollout heals the old gateway runs nothing in it, and it goes on afterwards', async () => {
    const { now } = await healing();
    const barred = { kind: 'barred', code: 'recovering' };
    expect(await before.fleet().claims.claim(native)).toMatchObject({ kind: 'refused', code: 'recovering' });
    expect(await before.fleet().calls.admit(admitOf(now, 'c1'))).toMatchObject(barred);
    expect(await before.fleet().grades.begin(key, gradeAsk({ inSandbox: true }))).toMatchObject(barred);
    expect(await replay()).toEqual({ kind: 'done' });
    expect(await before.fleet().calls.admit(admitOf(now, 'c1'))).toMatchObject(barred);
    expect(await world.fleet.calls.admit(admitOf(now, 'c1'))).toMatchObject({ kind: 'dispatch' });
    expect(await before.fleet().calls.admit(admitOf(now, 'c2'))).toMatchObject({ kind: 'dispatch' });
    expect(await record()).toMatchObject({ state: 'active', verdict: 'open', discarded: null });
    expect(await discards()).toBe(0);
  });

  test('what the old controller says of the next sandbox sends the rollout to another', async () => {
    const { now } = await healing();
    expect(await lose(before.fleet())).toMatchObject({ kind: 'swapped' });
    const third = await record();
    expect(sandboxOf(third)).not.toBe(sandboxOf(now));
    expect(await world.fleet.calls.admit(admitOf(third, 'c1'))).toMatchObject({ kind: 'not_active' });
    expect(await replay()).toEqual({ kind: 'done' });
  });

  test('set-up whose end the old gateway has stored is not replayed', async () => {
    const rollout = await setUp();
    await world.fleet.calls.admit(admitOf(rollout, 's2', asSetup));
    await before.fleet().calls.settle(settlementOf(key, 's2', { ranIn: sandboxOf(rollout) }));
    expect(await lose(world.fleet)).toMatchObject({ kind: 'tainted' });
    expect(await record()).toMatchObject({ heals: 0, discarded: { code: 'sandbox_lost' } });
  });

  test('a rollout that heals, and that the old controller took for begun when Redis was replaced, is lost', async () => {
    const { now } = await healing();
    await world.redis.hset(keysOf('test')('rollout', key), 'state', 'active', 'dispatched', 1);
    expect(await world.fleet.calls.admit(admitOf(now, 'c1'))).toMatchObject({ kind: 'not_active' });
    expect(await replay()).toMatchObject({ kind: 'lost' });
  });

  test('one that the old controller expires while it heals is never scored', async () => {
    await healing();
    await world.step(31 * minute);
    await before.fleet().lifecycle.expireDue(10);
    expect(await record()).toMatchObject({ state: 'expired', score: null, verdict: 'discarded' });
  });
});
