import { expect, test } from 'vitest';
import { bootId, callId, runId, sandboxId } from '#src/model/ids.ts';
import type { RolloutRecord } from '#src/ports/fleet/records.ts';
import {
  admitOf,
  claimOf,
  gradeAsk,
  drainingOf,
  held,
  keyOf,
  recordOf,
  sandboxOf,
  settlementOf,
  worldOfTests,
  template,
  tenant,
} from './world.ts';

const world = worldOfTests();

const lose = (sandbox: string, boot: string | null = null) =>
  world.fleet.lifecycle.lose(sandboxId(sandbox), boot === null ? null : bootId(boot), 'evicted', {
    node: 'n1',
  });

const runOutOfMemory = (rollout: RolloutRecord) =>
  world.fleet.lifecycle.lose(sandboxOf(rollout), null, 'out_of_memory', {});

test('a sandbox lost before the first dispatch is swapped silently for another', async () => {
  const [lost, other] = await world.supply(2);
  await held(world.fleet, claimOf('a'));
  const effect = await lose(lost ?? '');
  expect(effect).toMatchObject({ kind: 'swapped', rollout: { state: 'claimed', discarded: null } });
  expect((await recordOf(world.fleet, keyOf('a'))).epoch?.sandbox).toBe(other);
});

test('a rollout that a forgetful Redis has in line, and that had run elsewhere, leaves the line: what comes is for others', async () => {
  await world.fleet.claims.claim(claimOf('a'));
  await world.fleet.claims.claim(claimOf('b'));
  const ran = settlementOf(keyOf('a'), 'call-1', { ranIn: sandboxId('the-one-before') });
  await world.fleet.calls.settle(ran);
  await world.supply(2);
  expect((await world.fleet.claims.renew([keyOf('a'), keyOf('b')])).size).toBe(2);
  const again = (name: string) => world.fleet.claims.claim(claimOf(name));
  expect(await again('a')).toMatchObject({ kind: 'refused', code: 'sandbox_lost' });
  expect(await again('b')).toMatchObject({ kind: 'held' });
  expect(await recordOf(world.fleet, keyOf('a'))).toMatchObject({ state: 'waiting', epoch: null });
});

test('a grant that is given up after its rollout was tainted sends nobody to the line again', async () => {
  await world.supply(1);
  const { key, generation } = await held(world.fleet, claimOf('a'));
  await world.fleet.calls.settle(settlementOf(key, 'call-1', { ranIn: sandboxId('the-one-before') }));
  const reply = await world.fleet.claims.swap(key, generation, 'it is gone', {});
  expect(reply).toMatchObject({ kind: 'refused', code: 'sandbox_lost', rollout: { state: 'claimed' } });
});

test('a sandbox lost before the first dispatch with none ready sends its rollout to the head of the line', async () => {
  const [lost] = await world.supply(1);
  await held(world.fleet, claimOf('a'));
  await world.fleet.claims.claim(claimOf('b'));
  await lose(lost ?? '');
  expect(await world.fleet.claims.claim(claimOf('a'))).toMatchObject({ kind: 'waiting', ahead: 0 });
});

test('a sandbox lost after the first dispatch taints, with cause and evidence, for good', async () => {
  await world.supply(2);
  const rollout = await world.active('a');
  expect(await lose(sandboxOf(rollout))).toMatchObject({ kind: 'tainted' });
  const record = await recordOf(world.fleet, keyOf('a'));
  expect(record.discarded).toEqual({
    code: 'sandbox_lost',
    cause: 'evicted',
    suspected: null,
    evidence: { node: 'n1' },
    atMs: world.nowMs(),
  });
  expect(await drainingOf(world.fleet)).toEqual([sandboxOf(rollout)]);
});

test('calls in flight at the loss settle as sandbox_lost; a settlement that comes later is not first', async () => {
  await world.supply(1);
  const rollout = await world.running('a', 'c1');
  await world.fleet.calls.admit(admitOf(rollout, 'c2'));
  await lose(sandboxOf(rollout));
  for (const summary of await world.fleet.calls.list(keyOf('a'))) {
    expect(summary).toMatchObject({
      state: 'settled',
      outcome: 'infrastructure_failure',
      code: 'sandbox_lost',
      admitted: 'unknown',
    });
  }
  const late = await world.fleet.calls.settle(settlementOf(keyOf('a'), 'c1'));
  expect(late).toMatchObject({
    first: false,
    repeated: { kind: 'barred', code: 'sandbox_lost' },
    summary: { code: 'sandbox_lost' },
  });
});

test('a call settled just before the loss keeps its outcome, and its repeat gets the code of the discard', async () => {
  await world.supply(1);
  const rollout = await world.active('a');
  await lose(sandboxOf(rollout));
  const reply = await world.fleet.calls.admit(admitOf(rollout, 'call-1'));
  expect(reply).toMatchObject({ kind: 'barred', code: 'sandbox_lost', admitted: 'yes' });
  const recorded = await world.fleet.calls.lookup(rollout.key, callId('call-1'));
  expect(recorded?.summary).toMatchObject({ outcome: 'completed' });
});

test('a loss told twenty times at once has one effect', async () => {
  await world.supply(1);
  const rollout = await world.running('a');
  const effects = await Promise.all(Array.from({ length: 20 }, () => lose(sandboxOf(rollout))));
  expect(effects.filter(({ kind }) => kind === 'tainted')).toHaveLength(1);
});

test('a settlement and a loss at once settle the call once, whichever wins', async () => {
  await world.supply(1);
  const rollout = await world.running('a');
  const [settled] = await Promise.all([
    world.fleet.calls.settle(settlementOf(keyOf('a'), 'call-1')),
    lose(sandboxOf(rollout)),
  ]);
  const [summary] = await world.fleet.calls.list(keyOf('a'));
  expect(summary?.outcome).toBe(settled.first ? 'completed' : 'infrastructure_failure');
  expect((await recordOf(world.fleet, keyOf('a'))).discarded?.code).toBe('sandbox_lost');
});

test('the loss of another life of the sandbox changes nothing', async () => {
  await world.supply(1);
  const rollout = await world.running('a');
  expect(await lose(sandboxOf(rollout), 'an-older-boot')).toEqual({ kind: 'none' });
  expect(await lose(sandboxOf(rollout), rollout.epoch?.boot ?? '')).toMatchObject({ kind: 'tainted' });
});

test('the loss of a sandbox that the model broke does not taint', async () => {
  await world.supply(1);
  const rollout = await world.running('a');
  await runOutOfMemory(rollout);
  expect(await lose(sandboxOf(rollout))).toEqual({ kind: 'none' });
  expect((await recordOf(world.fleet, keyOf('a'))).discarded).toBeNull();
  expect(await drainingOf(world.fleet)).toEqual([sandboxOf(rollout)]);
});

test('a sandbox that runs out of memory while a call runs is broken by it: settled, not tainted, scorable', async () => {
  await world.supply(1);
  const rollout = await world.running('a', 'c1');
  await world.fleet.calls.admit(admitOf(rollout, 'c2'));
  expect(await runOutOfMemory(rollout)).toMatchObject({ kind: 'broken', rollout: { discarded: null } });
  for (const summary of await world.fleet.calls.list(keyOf('a'))) {
    expect(summary).toMatchObject({ outcome: 'completed', code: 'sandbox_broken', admitted: 'unknown' });
  }
  expect(await drainingOf(world.fleet)).toEqual([sandboxOf(rollout)]);
  expect(await world.fleet.grades.begin(keyOf('a'), gradeAsk({ gradeMs: 1_000 }))).toMatchObject({
    kind: 'run',
  });
  expect(await world.fleet.reports.run(tenant, runId('run-1'))).toMatchObject({ discarded: 0 });
});

test('calls that went down with the sandbox and calls that come later are told that it is broken', async () => {
  await world.supply(1);
  const rollout = await world.running('a', 'c1');
  await runOutOfMemory(rollout);
  const broken = { kind: 'broken', rollout: { broken: 'a command used up all of its memory' } };
  expect(await world.fleet.calls.admit(admitOf(rollout, 'c1'))).toMatchObject(broken);
  expect(await world.fleet.calls.admit(admitOf(rollout, 'c2'))).toMatchObject(broken);
});

test('a sandbox that runs out of memory while no call runs is broken by what a call left running', async () => {
  await world.supply(1);
  expect(await runOutOfMemory(await world.active('a'))).toMatchObject({
    kind: 'broken',
    rollout: { discarded: null, broken: 'a command used up all of its memory' },
  });
  expect(await world.fleet.grades.begin(keyOf('a'), gradeAsk({ gradeMs: 1_000 }))).toMatchObject({
    kind: 'run',
  });
});

test('one that runs out of memory before anything was dispatched is swapped like every other', async () => {
  await world.supply(2);
  expect(await runOutOfMemory(await held(world.fleet, claimOf('a')))).toMatchObject({ kind: 'swapped' });
});

test('the loss of a sandbox whose score is stored does not taint', async () => {
  await world.supply(1);
  const rollout = await world.active('a', { face: 'native' });
  await world.fleet.grades.begin(keyOf('a'), gradeAsk({ gradeMs: 1_000 }));
  await world.fleet.grades.score(keyOf('a'), 1, 0.5, {});
  expect(await lose(sandboxOf(rollout))).toEqual({ kind: 'none' });
  expect(await recordOf(world.fleet, keyOf('a'))).toMatchObject({ discarded: null, score: 0.5 });
});

test('an unclaimed sandbox that is lost leaves the pool', async () => {
  const [lost] = await world.supply(1);
  expect(await lose(lost ?? '')).toEqual({ kind: 'none' });
  expect((await world.fleet.pool.counts([template]))[0]).toMatchObject({ ready: 0 });
  expect((await world.fleet.claims.claim(claimOf('a'))).kind).toBe('waiting');
});

test('a sandbox that nobody knows is no loss', async () => {
  expect(await lose('stranger')).toEqual({ kind: 'none' });
});
