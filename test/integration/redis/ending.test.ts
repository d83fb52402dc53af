import { describe, expect, test } from 'vitest';
import { runId, sandboxId } from '#src/model/ids.ts';
import {
  admitOf,
  claimOf,
  gradeAsk,
  drainingOf,
  held,
  keyOf,
  minute,
  ownerOf,
  recordOf,
  sandboxOf,
  settlementOf,
  worldOfTests,
  tenant,
} from './world.ts';
import { reserveOne } from '#test/support/reserve-one.ts';

const world = worldOfTests();

const native = (name: string, run = 'run-1') => claimOf(name, { owner: ownerOf(name, run), face: 'native' });
const expire = (limit = 10) => world.fleet.lifecycle.expireDue(limit);

describe('finish and delete', () => {
  test('win over running calls: they settle cancelled, and the sandbox is destroyed', async () => {
    await world.supply(1);
    const rollout = await world.running('a');
    const record = await world.fleet.lifecycle.close(keyOf('a'), 'deleted');
    expect(record).toMatchObject({ state: 'closed', closedBy: 'deleted', inFlight: 0 });
    expect((await world.fleet.calls.list(keyOf('a')))[0]).toMatchObject({ outcome: 'cancelled' });
    expect(await drainingOf(world.fleet)).toEqual([sandboxOf(rollout)]);
    const late = await world.fleet.calls.settle(settlementOf(keyOf('a'), 'call-1'));
    expect(late).toMatchObject({ first: false, repeated: { kind: 'barred', code: 'rollout_closed' } });
  });

  test('a repeat of a call that was cancelled by them is rollout_closed', async () => {
    await world.supply(1);
    const rollout = await world.running('a');
    await world.fleet.lifecycle.close(keyOf('a'), 'finished');
    const reply = await world.fleet.calls.admit(admitOf(rollout, 'call-1'));
    expect(reply).toMatchObject({ kind: 'barred', code: 'rollout_closed' });
  });

  test('are idempotent: the first one stays the reason', async () => {
    await world.fleet.claims.claim(claimOf('a'));
    await world.fleet.lifecycle.close(keyOf('a'), 'finished');
    expect((await world.fleet.lifecycle.close(keyOf('a'), 'deleted'))?.closedBy).toBe('finished');
    expect(await world.fleet.lifecycle.close(keyOf('nobody'), 'deleted')).toBeNull();
  });

  test('in line make room there', async () => {
    await world.fleet.claims.claim(claimOf('a'));
    await world.fleet.claims.claim(claimOf('b'));
    await world.fleet.lifecycle.close(keyOf('a'), 'deleted');
    expect(await world.fleet.claims.claim(claimOf('b'))).toMatchObject({ ahead: 0 });
  });
});

const unmet = { requirement: 'workdir', wanted: 'a', given: 'b', fix: 'c' };
const refuse = (name: string) => world.fleet.lifecycle.refuse(keyOf(name), unmet);

describe('a refusal', () => {
  test('closes and discards the rollout, keeps the reason, and destroys its sandbox', async () => {
    await world.supply(1);
    const rollout = await held(world.fleet, claimOf('a'));
    expect(await refuse('a')).toMatchObject({
      state: 'closed',
      closedBy: 'refused',
      discarded: { code: 'requirements_unmet', evidence: unmet },
    });
    expect(await drainingOf(world.fleet)).toEqual([sandboxOf(rollout)]);
    expect(await world.fleet.claims.claim(claimOf('a'))).toMatchObject({
      kind: 'refused',
      code: 'requirements_unmet',
      rollout: { discarded: { evidence: unmet } },
    });
    expect(await world.fleet.grades.begin(keyOf('a'), gradeAsk())).toMatchObject({
      kind: 'barred',
      code: 'requirements_unmet',
    });
  });

  test('changes nothing of a rollout that has a score, is over, or is unknown', async () => {
    await world.supply(1);
    await world.running('a');
    await world.fleet.calls.settle(settlementOf(keyOf('a'), 'call-1'));
    await world.fleet.grades.begin(keyOf('a'), gradeAsk());
    await world.fleet.grades.score(keyOf('a'), 1, 0.5, {});
    expect(await refuse('a')).toBeNull();
    expect(await recordOf(world.fleet, keyOf('a'))).toMatchObject({ score: 0.5, discarded: null });
    await world.fleet.claims.claim(claimOf('b'));
    await world.fleet.lifecycle.close(keyOf('b'), 'deleted');
    expect(await refuse('b')).toBeNull();
    expect(await refuse('nobody')).toBeNull();
  });

  test('needs two sandboxes of a template that show the same within ten minutes', async () => {
    const { lifecycle } = world.fleet;
    const { template } = claimOf('a');
    const shows = (what: string, sandbox: string) => lifecycle.showsAgain(template, what, sandboxId(sandbox));
    expect(await shows('EROFS', 'sb-1')).toBe(false);
    expect(await shows('EROFS', 'sb-1')).toBe(false);
    expect(await shows('ENOENT', 'sb-2')).toBe(false);
    expect(await shows('EROFS', 'sb-2')).toBe(true);
    expect(await shows('EROFS', 'sb-3')).toBe(true);
    await world.step(10 * minute);
    expect(await shows('EROFS', 'sb-4')).toBe(false);
  });
});

describe('expiry', () => {
  test('closes a rollout whose lease has passed, not a millisecond before', async () => {
    await world.supply(1);
    const rollout = await world.active('a');
    await world.step(15 * minute - 1);
    expect(await expire()).toEqual([]);
    await world.step(1);
    expect(await expire()).toMatchObject([{ key: keyOf('a'), state: 'expired', closedBy: 'idle' }]);
    expect(await drainingOf(world.fleet)).toEqual([sandboxOf(rollout)]);
    expect(await expire()).toEqual([]);
  });

  test('spares a rollout with a running call past its lease, and takes it when the call has ended', async () => {
    await world.supply(1);
    await world.running('a');
    await world.step(17 * minute);
    expect(await expire()).toEqual([]);
    await world.fleet.calls.settle(settlementOf(keyOf('a'), 'call-1'));
    await world.step(15 * minute);
    expect(await expire()).toHaveLength(1);
  });

  test('is not held up by busy rollouts at the front', async () => {
    await world.supply(2);
    await world.running('busy');
    await world.step(1);
    await world.active('idle');
    await world.step(20 * minute);
    await expire(1);
    await expire(1);
    expect((await recordOf(world.fleet, keyOf('idle'))).state).toBe('expired');
  });

  test('spares a rollout that is being graded', async () => {
    await world.supply(1);
    await world.active('a');
    await world.fleet.grades.begin(keyOf('a'), gradeAsk());
    await world.step(29 * minute);
    expect(await expire()).toEqual([]);
    await world.step(16 * minute);
    expect(await expire()).toHaveLength(1);
  });

  test('at the end of the hard life closes whatever runs', async () => {
    await world.supply(1);
    await world.running('a');
    await world.fleet.calls.admit(
      admitOf(await recordOf(world.fleet, keyOf('a')), 'c2', { timeoutMs: 500 * minute }),
    );
    await world.step(120 * minute);
    expect(await expire()).toMatchObject([{ state: 'expired', closedBy: 'hard_life', inFlight: 0 }]);
  });

  test('a call at the end of the hard life is refused also before the sweep came by', async () => {
    await world.supply(1);
    const rollout = await world.active('a');
    await world.step(120 * minute);
    const reply = await world.fleet.calls.admit(admitOf(rollout, 'call-2'));
    expect(reply).toMatchObject({ kind: 'barred', code: 'rollout_expired' });
  });

  test('a heartbeat extends the lease', async () => {
    await world.supply(1);
    await world.active('a', { face: 'native' });
    await world.step(14 * minute);
    const record = await world.fleet.lifecycle.heartbeat(keyOf('a'));
    expect(record?.leaseUntilMs).toBe(world.nowMs() + 15 * minute);
    expect(await world.fleet.lifecycle.heartbeat(keyOf('nobody'))).toBeNull();
  });

  test('closes by portions', async () => {
    for (const name of ['a', 'b', 'c']) await world.fleet.claims.claim(claimOf(name));
    await world.step(15 * minute);
    expect(await expire(2)).toHaveLength(2);
    expect(await expire(2)).toHaveLength(1);
  });
});

const lapsed = () => world.fleet.lifecycle.lapsedRuns(10);
const release = (limit = 10) => world.fleet.lifecycle.releaseLapsed(tenant, runId('run-1'), limit);

describe('a run', () => {
  test('of the native face lapses after five minutes without open, call or heartbeat', async () => {
    await world.fleet.claims.claim(native('a'));
    await world.step(4 * minute);
    expect(await world.fleet.lifecycle.heartbeatRun(tenant, runId('run-1'))).toBe(true);
    await world.step(5 * minute - 1);
    expect(await lapsed()).toEqual([]);
    await world.step(1);
    expect(await lapsed()).toEqual([{ tenant, run: 'run-1' }]);
  });

  test('is renewed by a call', async () => {
    await world.supply(1);
    const rollout = await world.active('a', { face: 'native' });
    await world.step(4 * minute);
    await world.fleet.calls.admit(admitOf(rollout, 'call-2'));
    await world.step(4 * minute);
    expect(await lapsed()).toEqual([]);
  });

  test('does not lapse while a call runs, nor in the five minutes after it', async () => {
    await world.supply(1);
    const rollout = await world.active('a', { face: 'native' });
    await world.fleet.calls.admit(admitOf(rollout, 'long', { timeoutMs: 7 * minute }));
    await world.step(6 * minute);
    expect(await lapsed()).toEqual([]);
    await world.step(minute - 1);
    await world.fleet.calls.settle(settlementOf(rollout.key, 'long'));
    await world.step(5 * minute - 1);
    expect(await lapsed()).toEqual([]);
    await world.step(1);
    expect(await lapsed()).toHaveLength(1);
  });

  test('does not lapse while a call outlasts its deadline and its sandbox says that it runs', async () => {
    await world.supply(1);
    const rollout = await world.active('a', { face: 'native' });
    await world.fleet.calls.admit(admitOf(rollout, 'paused', { timeoutMs: minute }));
    for (let waited = 0; waited < 24; waited += 1) {
      await world.step(minute / 2);
      await world.fleet.calls.overdue(20_000, 30_000, 10);
      expect(await lapsed()).toEqual([]);
    }
  });

  test('lapses if a call is past its deadline and not settled', async () => {
    await world.supply(1);
    const rollout = await world.active('a', { face: 'native' });
    await world.fleet.calls.admit(admitOf(rollout, 'long', { timeoutMs: 7 * minute }));
    await world.step(6 * minute);
    expect(await lapsed()).toEqual([]);
    await world.step(5 * minute);
    expect(await lapsed()).toHaveLength(1);
  });

  test('does not lapse during a grading, nor in the five minutes after it', async () => {
    await world.supply(1);
    const { key } = await world.active('a', { face: 'native' });
    const begun = await world.fleet.grades.begin(key, gradeAsk({ gradeMs: 30 * minute }));
    for (let waited = 0; waited < 24; waited += 6) {
      await world.step(6 * minute);
      expect(await lapsed()).toEqual([]);
    }
    await world.fleet.grades.score(key, begun.kind === 'run' ? begun.turn : 0, 1, {});
    await world.step(5 * minute - 1);
    expect(await lapsed()).toEqual([]);
    await world.step(1);
    expect(await lapsed()).toHaveLength(1);
  });

  test('of the RFT face never lapses: silent minutes between steps are normal', async () => {
    await world.fleet.claims.claim(claimOf('a'));
    await world.step(14 * minute);
    expect(await lapsed()).toEqual([]);
  });

  test('without open rollouts does not lapse, so that a trainer may pause between steps', async () => {
    await world.fleet.claims.claim(native('a'));
    await world.fleet.lifecycle.close(keyOf('a'), 'finished');
    await world.step(20 * minute);
    expect(await lapsed()).toEqual([]);
    expect((await world.fleet.claims.claim(native('b'))).kind).toBe('waiting');
  });

  test('is closed by portions, and takes no new rollout from the first portion on', async () => {
    for (const name of ['a', 'b', 'c']) await world.fleet.claims.claim(native(name));
    expect(await world.fleet.lifecycle.closeRun(tenant, runId('run-1'), 2)).toBe(1);
    expect(await world.fleet.claims.claim(native('d'))).toMatchObject({ code: 'run_closed' });
    expect(await world.fleet.lifecycle.closeRun(tenant, runId('run-1'), 2)).toBe(0);
    expect(await recordOf(world.fleet, keyOf('a'))).toMatchObject({ closedBy: 'run_closed' });
  });

  test('that is unknown or closed has no heartbeat', async () => {
    expect(await world.fleet.lifecycle.heartbeatRun(tenant, runId('nobody'))).toBe(false);
    await world.fleet.claims.claim(native('a'));
    await world.fleet.lifecycle.closeRun(tenant, runId('run-1'), 10);
    expect(await world.fleet.lifecycle.heartbeatRun(tenant, runId('run-1'))).toBe(false);
  });
});

describe('a native run that its trainer has abandoned', () => {
  test('gives up its native rollouts; those of the RFT face in it go on, and new ones may begin', async () => {
    await world.supply(2);
    const ofPlatform = await world.active('rft');
    const abandoned = await world.active('native', { face: 'native' });
    await world.step(5 * minute);
    expect(await lapsed()).toEqual([{ tenant, run: 'run-1' }]);
    expect(await release()).toBe(0);
    const { key } = abandoned;
    expect(await recordOf(world.fleet, key)).toMatchObject({ state: 'closed', closedBy: 'run_lapsed' });
    expect(await world.fleet.calls.admit(admitOf(abandoned, 'late'))).toMatchObject({ code: 'run_closed' });
    expect((await recordOf(world.fleet, ofPlatform.key)).state).toBe('active');
    expect((await world.fleet.calls.admit(admitOf(ofPlatform, 'next'))).kind).toBe('dispatch');
    expect((await world.fleet.claims.claim(claimOf('another'))).kind).toBe('waiting');
    expect(await lapsed()).toEqual([]);
  });

  test('is released by portions, and keeps what is left when its trainer is back in between', async () => {
    for (const name of ['a', 'b', 'c']) await world.fleet.claims.claim(native(name));
    await world.step(5 * minute);
    expect(await release(1)).toBe(2);
    expect(await world.fleet.lifecycle.heartbeatRun(tenant, runId('run-1'))).toBe(true);
    expect(await release(1)).toBe(0);
    const records = await Promise.all(['a', 'b', 'c'].map((name) => recordOf(world.fleet, keyOf(name))));
    expect(records.filter(({ state }) => state === 'waiting')).toHaveLength(2);
  });
});

/** Every controller does all this each second, and does it first when Redis is back. */
async function tidyUp() {
  const { lifecycle } = world.fleet;
  const runs = await lifecycle.lapsedRuns(10);
  for (const { run } of runs) await lifecycle.releaseLapsed(tenant, run, 10);
  return { expired: await expire(), runs, takenBack: await lifecycle.takeBackGrants(30_000) };
}
const untouched = { expired: [], runs: [], takenBack: 0 };

describe('an outage, while which no gateway reaches fleet state,', () => {
  test('ends nothing of a caller, neither before the first gateway speaks again nor after', async () => {
    await world.supply(2);
    const rollout = await world.active('a', { face: 'native' });
    const granted = await held(world.fleet, native('granted'));
    await world.fleet.claims.claim(native('waiting'));
    await world.step(minute);
    await world.fleet.claims.claim(native('granted'));
    await world.outage(60 * minute);
    expect(await tidyUp()).toEqual(untouched);
    expect(await world.fleet.lifecycle.keepContact(0)).toBe(60 * minute);
    expect(await tidyUp()).toEqual(untouched);
    const after = await recordOf(world.fleet, rollout.key);
    expect(after).toMatchObject({ state: 'active', leaseUntilMs: rollout.leaseUntilMs + 60 * minute });
    expect(await recordOf(world.fleet, granted.key)).toMatchObject({ state: 'claimed', generation: 1 });
  });

  test('gives back exactly its length: what was silent before and after it ends then', async () => {
    await world.fleet.claims.claim(native('a'));
    await world.step(4 * minute);
    await world.outage(10 * minute);
    await world.fleet.lifecycle.keepContact(0);
    await world.step(minute - 1);
    expect(await lapsed()).toEqual([]);
    await world.step(1);
    expect(await lapsed()).toEqual([{ tenant, run: 'run-1' }]);
    await world.step(10 * minute - 1);
    expect(await expire()).toEqual([]);
    await world.step(1);
    expect(await expire()).toHaveLength(1);
  });

  test('is not charged to the time that the policy has', async () => {
    await world.supply(1);
    const rollout = await world.active('a');
    await world.step(20 * minute);
    await world.outage(12 * minute);
    const left = () => world.fleet.calls.timeLeft(rollout.key, 30 * minute);
    expect((await world.fleet.calls.admit(admitOf(rollout, 'first'))).kind).toBe('dispatch');
    expect(await left()).toBe(10 * minute);
    await world.fleet.lifecycle.keepContact(0);
    expect((await world.fleet.calls.admit(admitOf(rollout, 'second'))).kind).toBe('dispatch');
    expect(await left()).toBe(10 * minute);
    await world.step(11 * minute);
    const late = await world.fleet.calls.admit(admitOf(rollout, 'third'));
    expect(late).toMatchObject({ kind: 'refused', reason: 'time_spent' });
  });

  test('is not charged to it either by a Redis that has forgotten it, and takes the word of a gateway', async () => {
    await world.supply(1);
    const rollout = await world.active('a');
    await world.outage(35 * minute);
    await world.redis.del('corral:{test}:contact');
    expect(await world.fleet.lifecycle.keepContact(12 * minute)).toBe(12 * minute);
    expect((await world.fleet.calls.admit(admitOf(rollout, 'next'))).kind).toBe('dispatch');
  });

  test('keeps the place of whoever waits in line', async () => {
    await world.fleet.claims.claim(claimOf('first'));
    await world.step(1);
    await world.fleet.claims.claim(claimOf('second'));
    await world.outage(10 * minute);
    await tidyUp();
    await world.fleet.lifecycle.keepContact(0);
    await world.fleet.claims.claim(claimOf('second'));
    await world.fleet.claims.claim(claimOf('first'));
    expect(await world.fleet.claims.claim(claimOf('second'))).toMatchObject({ kind: 'waiting', ahead: 1 });
  });

  test('does not outlast the hard life, at which a sandbox ends by itself', async () => {
    await world.fleet.claims.claim(claimOf('a'));
    await world.outage(120 * minute);
    expect(await expire()).toMatchObject([{ closedBy: 'hard_life' }]);
  });

  test('of a few seconds is none: a word that came late gives nothing back', async () => {
    await world.fleet.claims.claim(native('a'));
    await world.outage(5_000);
    expect(await world.fleet.lifecycle.keepContact(0)).toBe(0);
  });
});

test('when every rollout is closed and every sandbox gone, nothing is left that has no end', async () => {
  await world.supply(2);
  const rollouts = [await world.active('a', { face: 'native' }), await world.running('b')];
  await world.fleet.claims.claim(claimOf('c'));
  await world.fleet.lifecycle.close(keyOf('a'), 'finished');
  await world.fleet.grades.begin(keyOf('c'), gradeAsk());
  await world.step(120 * minute);
  await expire();
  for (const rollout of rollouts) await world.fleet.pool.forget(sandboxOf(rollout));
  await world.fleet.lifecycle.lapsedRuns(10);
  await world.fleet.pool.knownTemplates();
  await world.fleet.pool.counts([claimOf('a').template]);
  await reserveOne(world.fleet.pool, sandboxId('s'), [], 1, minute);
  const endless: string[] = [];
  for (const name of await world.redis.keys('*')) {
    if ((await world.redis.pttl(name)) === -1) endless.push(name);
  }
  const forEver = ['contact', 'cost', 'moved', 'moves', 'redis', 'turn'].map(
    (name) => `corral:{test}:${name}`,
  );
  expect(endless.sort()).toEqual([...forEver, 'test:clock']);
});

test('a rollout that is granted and never called costs nobody a sandbox after its idle time', async () => {
  await world.supply(1);
  const rollout = await held(world.fleet, claimOf('a'));
  await world.step(15 * minute);
  await expire();
  expect(await drainingOf(world.fleet)).toEqual([sandboxOf(rollout)]);
});
