import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { shedMemory } from '#src/lifecycle/shed-memory.ts';
import { createFakeLog } from '#test/fakes/log.ts';
import {
  admitOf,
  claimOf,
  held,
  keyOf,
  recordOf,
  settlementOf,
  startWorld,
  type World,
} from '../redis/world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
  await world.reset();
  await world.supply(5);
});
afterAll(() => world.stop());
/** Where what is left fills Redis still, opens are refused for a while. */
beforeEach(() => world.redis.del('corral:{test}:full'));

/** A rollout with many calls that have settled, and another call that runs. */
async function rollout(name: string): Promise<void> {
  const claimed = await held(world.fleet, claimOf(name));
  for (let call = 1_000; call >= 1; call -= 1) {
    await world.fleet.calls.admit(admitOf(claimed, `call-${call}`, { budget: null }));
    await world.fleet.calls.settle(settlementOf(claimed.key, `call-${call}`));
  }
  await world.fleet.calls.admit(admitOf(claimed, 'running', { budget: null }));
}

/** Whether Redis would let this call go out again. */
const admission = async (name: string) =>
  (await world.fleet.calls.admit(admitOf(await recordOf(world.fleet, keyOf(name)), 'call-1'))).kind;

const records = async (name: string) => (await world.fleet.calls.list(keyOf(name))).length;

/** Sets the bound so that it is full, and beyond four fifths of it, with what is held now. */
async function fillUp(): Promise<void> {
  const { usedBytes } = await world.fleet.memory.usage();
  await world.redis.config('SET', 'maxmemory', Math.round(usedBytes * 1.05));
}

test('at four fifths of its memory what closed rollouts had left goes, open ones keep all, and no call runs again', async () => {
  await rollout('open');
  await rollout('closed');
  await world.fleet.lifecycle.close(keyOf('closed'), 'finished');

  const log = createFakeLog();
  await shedMemory(world.fleet.memory, log);
  expect(await records('closed')).toBe(1_001);
  await fillUp();
  await shedMemory(world.fleet.memory, log);

  expect(await records('closed')).toBe(0);
  expect(await admission('closed')).toBe('answer_expired');
  expect(await recordOf(world.fleet, keyOf('closed'))).toMatchObject({ state: 'closed' });
  expect(await admission('open')).toBe('in_journal');
  expect(await records('open')).toBe(1_001);
  expect(log.lines).toMatchObject([{ fields: { details: 1, summaries: 1 } }]);
});

test('a Redis that is over its bound, and refuses every script that may write, can still be made room in', async () => {
  await rollout('late');
  await world.fleet.lifecycle.close(keyOf('late'), 'finished');
  await world.redis.config('SET', 'maxmemory', 1_000_000);
  await expect(admission('open')).rejects.toMatchObject({ code: 'state_unavailable' });
  await world.fleet.memory.forget('summaries', { fromMs: 0, toMs: Infinity }, 0);
  await world.redis.config('SET', 'maxmemory', 0);
  expect(await admission('late')).toBe('answer_expired');
});

test('while there is no memory for new rollouts none is opened, and those that are open go on and end', async () => {
  await rollout('going-on');
  await world.fleet.memory.refuseOpens(60_000);
  const refused = { kind: 'refused', code: 'state_unavailable', rollout: null };
  expect(await world.fleet.claims.claim(claimOf('new'))).toEqual(refused);
  expect((await world.fleet.claims.claim(claimOf('going-on'))).kind).toBe('held');
  expect(await admission('going-on')).toBe('in_journal');
  const ended = await world.fleet.lifecycle.close(keyOf('going-on'), 'finished');
  expect(ended).toMatchObject({ state: 'closed' });
  expect(await world.fleet.claims.claim(claimOf('going-on'))).toMatchObject({ code: 'rollout_closed' });
  await world.redis.del('corral:{test}:full');
  expect((await world.fleet.claims.claim(claimOf('new'))).kind).not.toBe('refused');
});
