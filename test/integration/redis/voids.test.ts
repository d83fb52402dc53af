import { describe, expect, test } from 'vitest';
import { voidItem, voidRollout } from '#src/lifecycle/voids.ts';
import { itemKey, runId } from '#src/model/ids.ts';
import type { FleetEvent } from '#src/ports/event-log.ts';
import { wholeRun } from '#src/reports/run-report.ts';
import {
  admitOf,
  gradeAsk,
  held,
  claimOf,
  keyOf,
  minute,
  recordOf,
  settlementOf,
  tenant,
  worldOfTests,
} from './world.ts';

const world = worldOfTests(8);
const run = runId('run-1');
const item = itemKey('task-1');

async function scored(name: string, score: number): Promise<void> {
  await world.active(name);
  await world.fleet.grades.begin(keyOf(name), gradeAsk());
  await world.fleet.grades.score(keyOf(name), 1, score, {});
}

const voids = (name: string) => world.fleet.lifecycle.void(keyOf(name), 'a broken item');

async function groupNow() {
  const report = await wholeRun(world.fleet.reports, tenant, run);
  return report?.groups[0];
}

describe('a score that is voided', () => {
  test('stays what the trainer got', async () => {
    await scored('a', 1);
    expect(await voids('a')).toMatchObject({ changed: true, rollout: { verdict: 'scored', score: 1 } });
    expect(await world.fleet.grades.begin(keyOf('a'), gradeAsk())).toMatchObject({
      kind: 'scored',
      score: 1,
    });
    expect(await recordOf(world.fleet, keyOf('a'))).toMatchObject({
      voidedAtMs: world.nowMs(),
      voidReason: 'a broken item',
      discarded: null,
    });
  });

  test('leaves the sums as if it had never been, the best and a spread of exactly 0 too', async () => {
    await world.active('keeps-the-wave-open');
    for (const [index, score] of [0.1, 0.1, 0.7, 0.1].entries()) await scored(`r${index}`, score);
    await voids('r2');
    expect(await groupNow()).toMatchObject({ n: 5, scored: 3, voided: 1, mean: 0.1, best: 0.1, spread: 0 });
    expect(await world.fleet.reports.run(tenant, run)).toMatchObject({ scored: 3, voided: 1, discarded: 0 });
  });

  test('leaves no mean if it was the only one, and a later score counts as usual', async () => {
    await world.active('keeps-the-wave-open');
    await scored('a', 1);
    await voids('a');
    expect(await groupNow()).toMatchObject({ scored: 0, voided: 1, mean: null, best: null, spread: null });
    await scored('b', 0.5);
    expect(await groupNow()).toMatchObject({ scored: 1, voided: 1, mean: 0.5, best: 0.5, spread: 0 });
  });

  test('of a wave that the run lists no longer is subtracted, and the best is unknown', async () => {
    await world.active('keeps-the-wave-open');
    for (const [index, score] of [1, 3, 2].entries()) await scored(`r${index}`, score);
    await world.redis.zrem(`corral:{test}:rollouts:acme/run-1`, keyOf('r0'));
    expect(await world.redis.zcard(`corral:{test}:rollouts:acme/run-1`)).toBe(3);
    await voids('r1');
    const group = await groupNow();
    expect(group).toMatchObject({ scored: 2, voided: 1, best: null });
    expect(group?.mean).toBeCloseTo(1.5, 12);
    expect(group?.spread).toBeCloseTo(0.5, 12);
  });

  test('is voided once', async () => {
    await scored('a', 1);
    await voids('a');
    expect(await voids('a')).toMatchObject({ changed: false });
    expect(await world.fleet.reports.run(tenant, run)).toMatchObject({ scored: 0, voided: 1 });
  });

  test('can be voided 40 minutes after its end, and still says so', async () => {
    await scored('a', 1);
    await world.step(41 * minute);
    expect(await voids('a')).toMatchObject({ changed: true });
    await world.step(30 * minute);
    expect((await recordOf(world.fleet, keyOf('a'))).voidedAtMs).not.toBeNull();
  });
});

describe('an open rollout that is voided', () => {
  test('is discarded and closed, its call is cancelled, and its sandbox is removed', async () => {
    const rollout = await world.running('a');
    expect(await voids('a')).toMatchObject({
      changed: true,
      rollout: { state: 'closed', closedBy: 'voided', inFlight: 0, discarded: { code: 'voided' } },
    });
    const barred = { kind: 'barred', code: 'voided' };
    expect(await world.fleet.calls.admit(admitOf(rollout, 'call-2'))).toMatchObject(barred);
    expect(await world.fleet.grades.begin(keyOf('a'), gradeAsk())).toMatchObject(barred);
    expect(await world.fleet.pool.draining(10)).toEqual([rollout.epoch?.sandbox]);
    const report = { scored: 0, discarded: 1, voided: 0, codes: { voided: 1 }, blame: { caller: 1 } };
    expect(await world.fleet.reports.run(tenant, run)).toMatchObject(report);
  });

  test('gets no score of a grading that was under way', async () => {
    await world.active('a');
    await world.fleet.grades.begin(keyOf('a'), gradeAsk());
    await voids('a');
    await expect(world.fleet.grades.score(keyOf('a'), 1, 1, {})).rejects.toMatchObject({ code: 'voided' });
  });

  test('leaves the line if it waits there', async () => {
    for (let index = 0; index < 8; index += 1) await held(world.fleet, claimOf(`r${index}`));
    expect(await world.fleet.claims.claim(claimOf('waits'))).toMatchObject({ kind: 'waiting' });
    await voids('waits');
    expect(await world.fleet.claims.claim(claimOf('waits'))).toMatchObject({
      kind: 'refused',
      code: 'voided',
    });
  });
});

test('a rollout that its trainer ended without a score stays as it is', async () => {
  await world.active('a');
  await world.fleet.lifecycle.close(keyOf('a'), 'finished');
  expect(await voids('a')).toMatchObject({ changed: false, rollout: { verdict: 'open', discarded: null } });
});

test('an unknown rollout is nothing to void', async () => {
  expect(await voids('unknown')).toBeNull();
});

test('all rollouts of an item are voided, each with an event of its own, and no other', async () => {
  await scored('a', 1);
  await world.active('b');
  await world.active('other', { itemKey: itemKey('task-2') });
  await world.active('lost');
  const taint = { code: 'dependency_failed', evidence: {} } as const;
  const failed = { outcome: 'infrastructure_failure', code: taint.code, isAnswered: false, taint } as const;
  await world.fleet.calls.settle(settlementOf(keyOf('lost'), 'late', failed));

  const events: FleetEvent[] = [];
  const { lifecycle, reports } = world.fleet;
  const deps = {
    lifecycle,
    reports,
    record: (event: FleetEvent) => events.push(event),
    clock: { nowMs: () => 7 },
  };
  const why = { reason: 'its truth is wrong', keyId: 'nightly' };
  const page = await voidItem(deps, { tenant, run, item }, why);
  expect(page).toEqual({ discarded: 1, scored: 1, unchanged: 1, cursor: null });
  expect(events).toMatchObject([
    { kind: 'rollout_voided', key: keyOf('a'), atMs: 7, ...why },
    { kind: 'rollout_voided', key: keyOf('b'), atMs: 7, ...why },
  ]);
  expect((await recordOf(world.fleet, keyOf('other'))).verdict).toBe('open');
  expect((await recordOf(world.fleet, keyOf('lost'))).discarded?.code).toBe('dependency_failed');

  expect((await voidRollout(deps, keyOf('b'), why))?.changed).toBe(false);
  expect(events).toHaveLength(2);
});
