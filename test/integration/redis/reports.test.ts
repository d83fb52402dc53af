import { describe, expect, test } from 'vitest';
import { itemKey, runId, tenantId } from '#src/model/ids.ts';
import {
  claimOf,
  gradeAsk,
  keyOf,
  minute,
  ownerOf,
  recordOf,
  sandboxOf,
  settlementOf,
  worldOfTests,
  tenant,
  type World,
} from './world.ts';
import { wholeRun } from '#src/reports/run-report.ts';

const world = worldOfTests();

const run = runId('run-1');
const report = async () => {
  const found = await wholeRun(world.fleet.reports, tenant, run);
  if (found === null) throw new Error('no report');
  return found;
};
async function scored(name: string, score: number) {
  await world.supply(1);
  await world.active(name);
  await world.fleet.grades.begin(keyOf(name), gradeAsk());
  await world.fleet.grades.score(keyOf(name), 1, score, {});
}
async function lost(name: string) {
  await world.supply(1);
  const rollout = await world.active(name);
  await world.fleet.lifecycle.lose(sandboxOf(rollout), null, 'sandboxd_killed', {});
}

test('rewards 1, 3, 2 and a lost sandbox have mean 2 and never 1.5', async () => {
  await world.supply(1);
  await world.active('keeps-the-wave-open');
  for (const [index, score] of [1, 3, 2].entries()) await scored(`r${index}`, score);
  await lost('r3');
  const [group] = (await report()).groups;
  expect(group).toMatchObject({ item: 'task-1', wave: 1, n: 5, scored: 3, discarded: 1, mean: 2, best: 3 });
  expect(group?.spread).toBeCloseTo(Math.sqrt(2 / 3), 12);
});

test('a trainer that masks nothing would learn 1.5 of them; what its callers gave up or voided is in neither value', async () => {
  await world.supply(1);
  await world.active('keeps-the-wave-open');
  for (const [index, score] of [1, 3, 2, 30].entries()) await scored(`r${index}`, score);
  await lost('r4');
  for (const name of ['expires', 'voided']) await world.fleet.claims.claim(claimOf(name));
  await world.fleet.lifecycle.void(keyOf('voided'), 'a broken item');
  await world.fleet.lifecycle.void(keyOf('r3'), 'a leaked answer');
  await world.step(15 * minute);
  await world.fleet.lifecycle.expireDue(10);
  const { waves, reward } = await report();
  // The rollout that keeps the wave open expires, too.
  expect(reward).toEqual({ mean: 2, ifZeroed: 1.5, discards: { infrastructure: 1, caller: 3 } });
  expect(waves).toMatchObject([{ wave: 1, reward }]);
});

test('a wave that leaves the report takes its discards by code with it', async () => {
  await lost('first');
  await world.fleet.lifecycle.close(keyOf('first'), 'finished');
  for (let index = 0; index < 32; index += 1) {
    await open(`r${index}`);
    await world.fleet.lifecycle.close(keyOf(`r${index}`), 'finished');
  }
  expect((await report()).reward).toEqual({ mean: null, ifZeroed: null, discards: {} });
  expect(await world.redis.hkeys('corral:{test}:group:acme/run-1/task-1')).not.toContain('1:codes');
});

test('equal scores have a spread of exactly zero, and negative ones a best', async () => {
  await world.supply(1);
  await world.active('keeps-the-wave-open');
  for (let index = 0; index < 7; index += 1) await scored(`r${index}`, -0.1);
  expect((await report()).groups[0]).toMatchObject({ mean: -0.1, best: -0.1, spread: 0 });
});

test('a run is told by rollouts, outcomes, codes and blame', async () => {
  await scored('a', 1);
  await lost('b');
  await world.supply(1);
  await world.running('c');
  await world.fleet.calls.settle(
    settlementOf(keyOf('c'), 'call-1', { outcome: 'timed_out', code: 'command_timeout' }),
  );
  expect(await report()).toMatchObject({
    state: 'open',
    rollouts: 3,
    open: 1,
    scored: 1,
    discarded: 1,
    calls: { completed: 2, timed_out: 1 },
    codes: { sandbox_lost: 1 },
    blame: { infrastructure: 1, model: 1 },
  });
});

test('a loss that settled a call counts its code once', async () => {
  await world.supply(1);
  const rollout = await world.running('a');
  await world.fleet.lifecycle.lose(sandboxOf(rollout), null, 'evicted', {});
  expect((await report()).codes).toEqual({ sandbox_lost: 1 });
});

test('a closed run says so; an unknown one has no report', async () => {
  await world.fleet.claims.claim(claimOf('a'));
  await world.fleet.lifecycle.closeRun(tenant, run, 10);
  expect((await report()).state).toBe('closed');
  expect(await world.fleet.reports.run(tenant, runId('nobody'))).toBeNull();
});

test("a tenant sees its own runs, in any spelling, and nobody else's", async () => {
  const odd = 'a/b c%';
  await world.fleet.claims.claim(claimOf('a'));
  await world.fleet.claims.claim(claimOf('b', { owner: ownerOf('b', odd) }));
  expect((await world.fleet.reports.runs(tenant)).toSorted()).toEqual([odd, 'run-1']);
  expect((await world.fleet.reports.run(tenant, runId(odd)))?.rollouts).toBe(1);
  expect(await world.fleet.reports.runs(tenantId('acm'))).toEqual([]);
});

const open = (name: string, attempt = 1) =>
  world.fleet.claims.claim(claimOf(name, { owner: ownerOf(name, 'run-1', attempt) }));
const waveOf = async (name: string) => (await recordOf(world.fleet, keyOf(name))).wave;

describe('waves', () => {
  test('rollouts of an item that start together are one wave', async () => {
    await open('a');
    await world.step(9 * minute);
    await open('b');
    expect([await waveOf('a'), await waveOf('b')]).toEqual([1, 1]);
  });

  test('the next wave opens when all rollouts of the last one are closed', async () => {
    await open('a');
    await world.fleet.lifecycle.close(keyOf('a'), 'finished');
    await open('b');
    expect(await waveOf('b')).toBe(2);
  });

  test('the next wave opens ten minutes after the last start', async () => {
    await open('a');
    await world.step(10 * minute + 1);
    await open('b');
    expect(await waveOf('b')).toBe(2);
  });

  test('a rollout of an earlier wave that closes does not close the current one', async () => {
    await open('a');
    await world.step(11 * minute);
    await open('b');
    await world.fleet.lifecycle.close(keyOf('a'), 'finished');
    await open('c');
    expect(await waveOf('c')).toBe(2);
  });

  test('other items have waves of their own', async () => {
    await open('a');
    await world.fleet.lifecycle.close(keyOf('a'), 'finished');
    await world.fleet.claims.claim(claimOf('b', { itemKey: itemKey('task-2') }));
    expect(await waveOf('b')).toBe(1);
  });

  test('a higher attempt takes the place of the lower one in its wave', async () => {
    await open('a');
    await open('a', 2);
    expect((await report()).groups).toMatchObject([{ wave: 1, n: 1 }]);
    expect(await recordOf(world.fleet, keyOf('a', 'run-1', 2))).toMatchObject({ wave: 1 });
  });

  test('only the newest 32 waves of an item stay', async () => {
    for (let index = 0; index < 35; index += 1) {
      await open(`r${index}`);
      await world.fleet.lifecycle.close(keyOf(`r${index}`), 'finished');
    }
    const waves = (await report()).groups.map(({ wave, n }) => [wave, n]);
    expect(waves).toHaveLength(32);
    expect(waves[0]).toEqual([4, 1]);
    expect(waves.at(-1)).toEqual([35, 1]);
  });
});

const names = async (filter: Parameters<World['fleet']['reports']['rollouts']>[2]) => {
  const { rollouts } = await world.fleet.reports.rollouts(tenant, run, filter);
  return rollouts.map(({ owner }) => owner.rollout);
};

describe('the list of rollouts', () => {
  test('is in the order they came, and filtered by verdict and code', async () => {
    await scored('good', 1);
    await lost('bad');
    await world.fleet.claims.claim(claimOf('slow'));
    await world.step(15 * minute);
    await world.fleet.lifecycle.expireDue(10);
    expect(await names({})).toEqual(['good', 'bad', 'slow']);
    expect(await names({ verdict: 'scorable' })).toEqual(['good']);
    expect(await names({ verdict: 'discard' })).toEqual(['bad', 'slow']);
    expect(await names({ code: 'rollout_expired' })).toEqual(['slow']);
  });

  test('comes in pages that miss nobody and repeat nobody', async () => {
    const all = Array.from({ length: 230 }, (_, index) => `r${index}`);
    for (const name of all) await world.fleet.claims.claim(claimOf(name));
    const seen: string[] = [];
    for (let cursor: string | null = '0'; cursor !== null;) {
      const page: Awaited<ReturnType<typeof world.fleet.reports.rollouts>> =
        await world.fleet.reports.rollouts(tenant, run, { cursor });
      seen.push(...page.rollouts.map(({ owner }) => owner.rollout));
      cursor = page.cursor;
    }
    expect(seen).toEqual(all);
  });

  test('of a grader that failed three times says grader_failed', async () => {
    await world.supply(1);
    await world.active('a');
    for (const turn of [1, 2, 3]) {
      await world.fleet.grades.begin(keyOf('a'), gradeAsk());
      await world.fleet.grades.failed(keyOf('a'), turn, {});
    }
    expect(await names({ code: 'grader_failed' })).toEqual(['a']);
  });
});
