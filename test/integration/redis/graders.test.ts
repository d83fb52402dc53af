import { describe, expect, test } from 'vitest';
import { keysOf } from '#src/adapters/redis/keys.ts';
import { templateDigest } from '#src/model/ids.ts';
import { graderKey } from '#src/model/rollout.ts';
import type { ClaimRequest } from '#src/ports/fleet/claims.ts';
import type { RolloutRecord } from '#src/ports/fleet/records.ts';
import {
  claimOf,
  drainingOf,
  gradeAsk,
  held,
  keyOf,
  minute,
  ownerOf,
  recordOf,
  sandboxOf,
  second,
  worldOfTests,
  tenant,
} from './world.ts';
import { reserveOne } from '#test/support/reserve-one.ts';

const world = worldOfTests(1);

const key = keyOf('a');
const graders = templateDigest('G');
const ownerOfGrader = (name = 'a') => ({ ...ownerOf(name), role: 'grader' }) as const;
const graderClaim = (turn: number, overrides: Partial<ClaimRequest> = {}) =>
  claimOf('a', {
    owner: ownerOfGrader(),
    template: graders,
    item: null,
    idleMs: minute,
    hardLifeMs: 30 * minute,
    turn,
    ...overrides,
  });
const claimGrader = (turn = 1) => world.fleet.claims.claim(graderClaim(turn));
const graderNow = () => world.fleet.claims.find(ownerOfGrader(), 1);

/** A rollout whose first turn of grading has begun. */
async function graded(overrides: Partial<ClaimRequest> = {}): Promise<RolloutRecord> {
  const rollout = await world.active('a', overrides);
  await world.fleet.grades.begin(key, gradeAsk());
  return rollout;
}

describe('a grader’s claim', () => {
  test('gets a sandbox of its own beside the rollout’s, and a repeat the same one', async () => {
    const rollout = await graded();
    const [ready] = await world.supply(1, graders);
    const grader = await held(world.fleet, graderClaim(1));
    expect(grader).toMatchObject({ state: 'claimed', epoch: { sandbox: ready }, owner: { role: 'grader' } });
    expect(sandboxOf(grader)).not.toBe(sandboxOf(rollout));
    expect(sandboxOf(await held(world.fleet, graderClaim(1)))).toBe(ready);
    expect(await recordOf(world.fleet, key)).toMatchObject({ state: 'grading', epoch: rollout.epoch });
  });

  test('is in no list, count or group of its run', async () => {
    await graded();
    await world.supply(1, graders);
    await claimGrader();
    const run = ownerOf('a').run;
    expect(await world.fleet.reports.run(tenant, run)).toMatchObject({ rollouts: 1, open: 1, discarded: 0 });
    expect((await world.fleet.reports.rollouts(tenant, run, {})).rollouts).toHaveLength(1);
    await world.fleet.grades.releaseGrader(key, 1);
    expect(await world.fleet.reports.run(tenant, run)).toMatchObject({ rollouts: 1, open: 1, discarded: 0 });
  });

  test('is refused before a turn, after it, and to a turn that was given up', async () => {
    await world.active('a');
    await world.supply(2, graders);
    expect(await claimGrader()).toMatchObject({ kind: 'refused', code: 'grader_failed' });
    await world.fleet.grades.begin(key, gradeAsk());
    expect(await claimGrader()).toMatchObject({ kind: 'held' });
    await world.step(30 * minute);
    expect(await claimGrader()).toMatchObject({ kind: 'refused', code: 'grader_failed' });
    await world.fleet.grades.begin(key, gradeAsk());
    expect(await claimGrader(1)).toMatchObject({ kind: 'refused', code: 'grader_failed' });
    expect(await claimGrader(2)).toMatchObject({ kind: 'held' });
  });

  test('of a later turn has another sandbox, and the earlier one lets nothing of it go', async () => {
    await graded();
    await world.supply(2, graders);
    const first = sandboxOf(await held(world.fleet, graderClaim(1)));
    await world.step(30 * minute);
    await world.fleet.grades.begin(key, gradeAsk());
    expect(await drainingOf(world.fleet)).toEqual([first]);
    const later = sandboxOf(await held(world.fleet, graderClaim(2)));
    expect(later).not.toBe(first);
    await world.fleet.grades.releaseGrader(key, 1);
    expect(await graderNow()).toMatchObject({ epoch: { sandbox: later } });
    await world.fleet.grades.releaseGrader(key, 2);
    expect(await graderNow()).toBeNull();
    expect(await drainingOf(world.fleet)).toEqual([first, later]);
  });

  test('is launched for before rollouts that wait for their first sandbox', async () => {
    await graded();
    expect(await world.fleet.claims.claim(claimOf('b'))).toMatchObject({ kind: 'waiting' });
    await world.step(second);
    expect(await claimGrader()).toMatchObject({ kind: 'waiting' });
    const targets = [
      { template: claimOf('b').template, minReady: 0, max: 10 },
      { template: graders, minReady: 0, max: 10 },
    ];
    const next = (name: string) => reserveOne(world.fleet.pool, sandboxOfName(name), targets, 10, minute);
    expect(await next('one')).toMatchObject({ template: graders, reason: 'waiting' });
    expect(await next('two')).toMatchObject({ template: claimOf('b').template, reason: 'waiting' });
  });
});

const sandboxOfName = (name: string) => name as ReturnType<typeof sandboxOf>;

describe('the loss of a grader’s sandbox', () => {
  test('puts its claim at the head of its line, and is no taint of the rollout', async () => {
    await graded();
    await world.supply(1, graders);
    const grader = await held(world.fleet, graderClaim(1));
    const effect = await world.fleet.lifecycle.lose(sandboxOf(grader), null, 'sandboxd_killed', {});
    expect(effect).toMatchObject({ kind: 'swapped' });
    expect(await graderNow()).toMatchObject({ state: 'waiting', epoch: null });
    expect(await recordOf(world.fleet, key)).toMatchObject({ state: 'grading', discarded: null });
    const [another] = await world.supply(1, graders);
    expect(await held(world.fleet, graderClaim(1))).toMatchObject({ epoch: { sandbox: another } });
    expect(await world.fleet.grades.score(key, 1, 1, {})).toEqual({ first: true, score: 1 });
  });

  test('by its own memory is the doing of what the policy left behind the second time, and no third is broken by it', async () => {
    await graded();
    const loseNext = async () => {
      await world.supply(1, graders);
      const grader = await held(world.fleet, graderClaim(1));
      return world.fleet.lifecycle.lose(sandboxOf(grader), null, 'out_of_memory', {});
    };
    expect(await loseNext()).toMatchObject({ kind: 'swapped' });
    expect(await graderNow()).toMatchObject({ state: 'waiting', broken: null });
    expect(await loseNext()).toEqual({ kind: 'none' });
    expect(await graderNow()).toMatchObject({
      state: 'claimed',
      broken: 'a command used up all of its memory',
    });
    expect(await recordOf(world.fleet, key)).toMatchObject({ discarded: null, broken: null });
  });

  test.each(['evicted', 'preempted', 'node_lost', 'node_out_of_memory'] as const)(
    'twice by %s breaks nothing: another is waited for',
    async (cause) => {
      await graded();
      for (let time = 0; time < 2; time += 1) {
        await world.supply(1, graders);
        const grader = await held(world.fleet, graderClaim(1));
        const effect = await world.fleet.lifecycle.lose(sandboxOf(grader), null, cause, {});
        expect(effect).toMatchObject({ kind: 'swapped' });
        expect(await graderNow()).toMatchObject({ state: 'waiting', broken: null });
      }
    },
  );
});

/** The policy's, by its node. */
const lose = async () => {
  const { epoch } = await recordOf(world.fleet, key);
  if (epoch === null) throw new Error('it has no sandbox');
  return world.fleet.lifecycle.lose(epoch.sandbox, null, 'node_lost', {});
};

describe('the loss of the policy’s sandbox under a turn of grading', () => {
  test('is a taint before its artifacts were taken, and lets the grader’s go', async () => {
    await graded();
    await world.supply(1, graders);
    await claimGrader();
    expect(await lose()).toMatchObject({ kind: 'tainted' });
    expect(await graderNow()).toBeNull();
  });

  test('is none after that, and the score counts', async () => {
    await graded();
    await world.fleet.grades.artifactsTaken(key, 1);
    expect(await lose()).toEqual({ kind: 'none' });
    expect(await world.fleet.grades.score(key, 1, 0.5, {})).toEqual({ first: true, score: 0.5 });
  });

  test('is one all the same when that turn ends without a score', async () => {
    await graded();
    await world.fleet.grades.artifactsTaken(key, 1);
    expect(await lose()).toEqual({ kind: 'none' });
    await world.fleet.grades.failed(key, 1, {});
    expect(await lose()).toMatchObject({ kind: 'tainted' });
  });

  test('is one in a later turn, which has taken nothing yet', async () => {
    await graded();
    await world.fleet.grades.artifactsTaken(key, 1);
    await world.step(30 * minute);
    await world.fleet.grades.begin(key, gradeAsk());
    expect(await lose()).toMatchObject({ kind: 'tainted' });
  });
});

describe('a grader’s sandbox that nobody lets go', () => {
  test('goes with its rollout', async () => {
    const rollout = await graded();
    const [grader] = await world.supply(1, graders);
    await claimGrader();
    await world.fleet.lifecycle.close(key, 'deleted');
    expect(await graderNow()).toBeNull();
    expect(new Set(await drainingOf(world.fleet))).toEqual(new Set([grader, sandboxOf(rollout)]));
  });

  test('goes when its gateway is silent, and leaves no trace in reports', async () => {
    await graded();
    const [grader] = await world.supply(1, graders);
    await claimGrader();
    await world.step(31 * second);
    expect(await world.fleet.lifecycle.takeBackGrants(30 * second)).toBe(1);
    expect(await drainingOf(world.fleet)).toEqual([grader]);
    await world.step(minute);
    expect(await world.fleet.lifecycle.expireDue(10)).toEqual([]);
    expect(await graderNow()).toBeNull();
    expect(await world.fleet.reports.run(tenant, ownerOf('a').run)).toMatchObject({ open: 1, discarded: 0 });
  });

  test('leaves nothing in Redis', async () => {
    await graded();
    await world.supply(1, graders);
    await claimGrader();
    await world.fleet.grades.releaseGrader(key, 1);
    const keys = await world.redis.keys('*');
    expect(keys.filter((name) => name.includes(graderKey(key)))).toEqual([]);
    for (const name of ['leases', 'grants', 'waiters', 'graderWaiters'] as const)
      expect(await world.redis.zscore(keysOf('test')(name), graderKey(key))).toBeNull();
  });
});

test('what a grader’s sandbox costs is told with its rollout', async () => {
  await graded();
  await world.supply(1, graders);
  await claimGrader();
  await world.step(10 * second);
  await world.fleet.grades.releaseGrader(key, 1);
  await world.fleet.grades.score(key, 1, 1, {});
  const costs = await world.fleet.reports.cost();
  // Its own ten seconds, and the policy's.
  expect(costs.filter(({ state }) => state === 'scored').map(({ ms }) => ms)).toEqual([20 * second]);
});
