import { describe, expect, test } from 'vitest';
import { bootId, callId, environmentName, itemKey, runId } from '#src/model/ids.ts';
import { sandboxAddress } from '#src/model/rollout.ts';
import type { FoundCall, FoundRollout } from '#src/ports/fleet/recovery.ts';
import type { AdmitReply } from '#src/ports/fleet/calls.ts';
import type { ClaimReply } from '#src/ports/fleet/claims.ts';
import type { GradeBegin } from '#src/ports/fleet/grades.ts';
import type { RolloutRecord } from '#src/ports/fleet/records.ts';
import { verdictOf } from '#src/failure/verdict.ts';
import { repeatsAreOver } from '#test/support/repeats-are-over.ts';
import {
  admitOf,
  claimOf,
  gradeAsk,
  keyOf,
  minute,
  second,
  ownerOf,
  recordOf,
  sandboxOf,
  settlementOf,
  worldOfTests,
  template,
  tenant,
} from './world.ts';

const world = worldOfTests(3);

const key = keyOf('a');
const hashOf = (of = key) => `corral:{test}:rollout:${of}`;
const lifeOf = (of = key) => world.redis.pttl(hashOf(of));
const admit = (call: string, of: RolloutRecord) => world.fleet.calls.admit(admitOf(of, call));
const begin = () => world.fleet.grades.begin(key, gradeAsk());
const finish = () => world.fleet.lifecycle.close(key, 'finished');
const lookup = (call: string) => world.fleet.calls.lookup(key, callId(call));

const labelOf = ({ face, environment, version, itemKey: item, wave, generation }: RolloutRecord) => ({
  face,
  environment,
  version,
  template,
  itemKey: item,
  wave,
  generation,
});

const told = (reply: ClaimReply | AdmitReply | GradeBegin) => ({
  kind: reply.kind,
  code: 'code' in reply ? reply.code : null,
  score: 'score' in reply ? reply.score : null,
});

/** Ways to an end, and what every reader of the record then finds, also when nothing but the line is left. */
const ends: Readonly<Record<string, () => Promise<unknown>>> = {
  scored: async () => {
    await world.active('a');
    await begin();
    await world.fleet.grades.score(key, 1, 0.1 + 0.2, { said: 'x'.repeat(200) });
  },
  finished: async () => {
    await world.active('a');
    await finish();
  },
  'finished before it had a sandbox': async () => {
    await world.fleet.claims.claim(claimOf('a', { recordOnly: true }));
    await finish();
  },
  tainted: async () => {
    const rollout = await world.running('a');
    await world.fleet.lifecycle.lose(sandboxOf(rollout), null, 'evicted', { node: 'n'.repeat(200) });
    await finish();
  },
  broken: async () => {
    const rollout = await world.running('a');
    await world.fleet.lifecycle.lose(sandboxOf(rollout), null, 'out_of_memory', {});
    await finish();
  },
  expired: async () => {
    await world.active('a');
    await world.step(16 * minute);
    await world.fleet.lifecycle.expireDue(10);
  },
};

describe.each(Object.keys(ends))('the line of a rollout that was %s', (name) => {
  test('is told as whole as before while a request may be repeated, and its verdict for ever after', async () => {
    await ends[name]?.();
    const whole = await recordOf(world.fleet, key);
    await repeatsAreOver(world.redis);
    const {
      discarded,
      epoch: _,
      address: _1,
      launchType: _2,
      claimedAtMs: _3,
      activeAtMs: _4,
      idsApartIn: _5,
      ...rest
    } = whole;
    const line = await recordOf(world.fleet, key);
    expect(line).toMatchObject({ ...rest, hadRow: false, epoch: null });
    expect(verdictOf(line)).toEqual(verdictOf(whole));
    expect(line.discarded).toEqual(discarded && { ...discarded, evidence: {} });
  });

  test('refuses whoever would open it again, and any call, by the same code', async () => {
    await ends[name]?.();
    const whole = await recordOf(world.fleet, key);
    const whoComes = async () => {
      const replies = [
        await world.fleet.claims.claim(claimOf('a')),
        await admit('new', whole),
        await begin(),
      ];
      return replies.map(told);
    };
    const before = await whoComes();
    await repeatsAreOver(world.redis);
    expect(await whoComes()).toEqual(before);
    expect(before[0]).toMatchObject({ kind: 'refused' });
    expect(await finish()).toMatchObject({ state: whole.state, closedBy: whole.closedBy });
  });

  test('is packed, and takes half a kilobyte', async () => {
    await ends[name]?.();
    expect(await world.redis.object('ENCODING', hashOf())).toBe('listpack');
    expect(Number(await world.redis.memory('USAGE', hashOf()))).toBeLessThanOrEqual(512);
  });
});

describe('a score', () => {
  test('is told to the last digit whoever asks how late, and never computed again', async () => {
    await ends['scored']?.();
    const told = { kind: 'scored', score: 0.1 + 0.2 };
    expect(await begin()).toMatchObject(told);
    await repeatsAreOver(world.redis);
    expect(await begin()).toMatchObject(told);
    expect(await world.fleet.grades.score(key, 2, 0.9, {})).toEqual({ first: false, score: 0.1 + 0.2 });
    expect(await world.fleet.grades.failed(key, 1, {})).toMatchObject({ turnsLeft: 3 });
  });
});

describe('a repeat of a call, long after the end of its rollout,', () => {
  test('is told that it ran, or how it ended; another id that the rollout is closed', async () => {
    const rollout = await world.active('a');
    await admit('cut-off', rollout);
    for (let index = 0; index < 30; index += 1) {
      await admit(`many-${index}`, rollout);
      await world.fleet.calls.settle(settlementOf(key, `many-${index}`));
    }
    await finish();
    await repeatsAreOver(world.redis);
    expect(await admit('call-1', rollout)).toMatchObject({
      kind: 'answer_expired',
      summary: { call: 'call-1', admitted: 'yes' },
    });
    for (let index = 0; index < 30; index += 1)
      expect((await admit(`many-${index}`, rollout)).kind).toBe('answer_expired');
    const cutOff = { kind: 'barred', code: 'rollout_closed', admitted: 'unknown' };
    expect(await admit('cut-off', rollout)).toMatchObject(cutOff);
    const never = { kind: 'barred', code: 'rollout_closed', admitted: 'no' };
    expect(await admit('never', rollout)).toMatchObject(never);
  });

  test('is told of the loss that it went down with', async () => {
    const rollout = await world.running('a');
    await world.fleet.lifecycle.lose(sandboxOf(rollout), null, 'evicted', {});
    await finish();
    await repeatsAreOver(world.redis);
    const lost = { kind: 'barred', code: 'sandbox_lost', admitted: 'unknown' };
    expect(await admit('call-1', rollout)).toMatchObject(lost);
  });

  test('is the model’s own failure where it broke its sandbox', async () => {
    const rollout = await world.running('a');
    await world.fleet.lifecycle.lose(sandboxOf(rollout), null, 'out_of_memory', {});
    await finish();
    await repeatsAreOver(world.redis);
    const reply = await admit('call-1', rollout);
    expect(reply).toMatchObject({
      kind: 'broken',
      rollout: { broken: 'a command used up all of its memory' },
    });
  });

  test('who only attaches finds that it was there, and of one that never was nothing', async () => {
    await world.active('a');
    await finish();
    await repeatsAreOver(world.redis);
    expect(await lookup('call-1')).toMatchObject({
      repeated: { kind: 'answer_expired' },
      summary: { state: 'settled', outcome: 'completed', admitted: 'yes' },
    });
    expect(await lookup('never')).toBeNull();
    expect(await world.fleet.calls.list(key)).toEqual([]);
  });

  test('settles nothing, and one that settles after the end is known from then on', async () => {
    await world.active('a');
    await finish();
    const late = { outcome: 'refused', code: 'bad_arguments', admitted: 'no' } as const;
    expect(await world.fleet.calls.settle(settlementOf(key, 'late', late))).toMatchObject({ first: true });
    await repeatsAreOver(world.redis);
    const again = await world.fleet.calls.settle(settlementOf(key, 'call-1'));
    expect(again).toMatchObject({ first: false, repeated: { kind: 'answer_expired' } });
    expect(await world.fleet.calls.settle(settlementOf(key, 'late', late))).toMatchObject({ first: false });
    expect(await lifeOf()).toBeGreaterThan(159 * minute);
  });
});

describe('a line lives', () => {
  test('40 minutes and its rollout’s hard life; what stands beside it 40 minutes', async () => {
    await world.active('a', { hardLifeMs: 33 * minute });
    await finish();
    expect(await lifeOf()).toBeGreaterThan(72 * minute);
    expect(await lifeOf()).toBeLessThanOrEqual(73 * minute);
    await repeatsAreOver(world.redis);
    const left = await world.redis.keys(`*:${key}`);
    expect(left).toEqual([hashOf()]);
  });

  test('a day and 40 minutes where an earlier version opened the rollout', async () => {
    await world.active('a');
    await world.redis.hdel(hashOf(), 'hardLifeMs');
    await finish();
    expect(await lifeOf()).toBeGreaterThan((24 * 60 + 39) * minute);
  });

  test('as long as which attempt is the newest, which never ends before that one does', async () => {
    const again = claimOf('a', { owner: ownerOf('a', 'run-1', 2) });
    await world.active('a');
    await world.fleet.claims.claim(again);
    const newest = 'corral:{test}:newest:acme/run-1/a/policy';
    await world.fleet.calls.settle(settlementOf(key, 'late'));
    expect(await world.redis.pttl(newest)).toBe(-1);
    await world.fleet.lifecycle.close(keyOf('a', 'run-1', 2), 'finished');
    const lineEndsMs = await world.redis.pexpiretime(hashOf(keyOf('a', 'run-1', 2)));
    const newestEndsMs = await world.redis.pexpiretime(newest);
    expect(newestEndsMs).toBeGreaterThanOrEqual(lineEndsMs);
    // Some versions of Redis look at the clock for each expiry that a script sets.
    expect(newestEndsMs).toBeLessThan(lineEndsMs + second);
    await repeatsAreOver(world.redis);
    expect(await world.fleet.claims.claim(claimOf('a'))).toMatchObject({ code: 'rollout_closed' });
    expect(await world.fleet.claims.claim(again)).toMatchObject({ code: 'rollout_closed' });
  });
});

test('a run lists whose line is there, and lets go of two for each that ends', async () => {
  for (const name of ['a', 'b', 'c', 'd', 'e']) await world.fleet.claims.claim(claimOf(name));
  const end = (name: string) => world.fleet.lifecycle.close(keyOf(name), 'deleted');
  for (const name of ['b', 'c', 'd']) await end(name);
  await world.redis.del(['b', 'c', 'd'].map((name) => hashOf(keyOf(name))));
  const listed = () => world.redis.zrange('corral:{test}:rollouts:acme/run-1', '0', '-1');
  await end('a');
  expect(await listed()).toEqual(['a', 'c', 'd', 'e'].map((name) => keyOf(name)));
  await world.redis.del(hashOf());
  await end('e');
  expect(await listed()).toEqual(['d', 'e'].map((name) => keyOf(name)));
  const page = await world.fleet.reports.rollouts(tenant, runId('run-1'), {});
  expect(page.rollouts.map((rollout) => rollout.key)).toEqual([keyOf('e')]);
});

describe('beside the line', () => {
  test('short tags stay in it, long ones go with the details', async () => {
    const tags = { step: 7, labels: ['warm-up'] };
    const long = { step: 7, labels: ['x'.repeat(40), 'y'.repeat(40)] };
    await world.fleet.claims.claim(claimOf('a', { tags }));
    await world.fleet.claims.claim(claimOf('b', { tags: long }));
    await finish();
    await world.fleet.lifecycle.close(keyOf('b'), 'finished');
    expect(await recordOf(world.fleet, keyOf('b'))).toMatchObject({ tags: long });
    await repeatsAreOver(world.redis);
    expect(await recordOf(world.fleet, key)).toMatchObject({ tags });
    expect(await recordOf(world.fleet, keyOf('b'))).toMatchObject({ tags: { step: null, labels: [] } });
  });

  test('a record names another environment and another group no less', async () => {
    await world.active('a', { itemKey: itemKey('task '.repeat(40)) });
    await finish();
    await repeatsAreOver(world.redis);
    const other = claimOf('a', { environment: environmentName('other') });
    expect(await world.fleet.claims.claim(other)).toMatchObject({ code: 'environment_mismatch' });
    expect(await recordOf(world.fleet, key)).toMatchObject({ itemKey: 'task '.repeat(40) });
  });
});

/** What its sandbox tells of a rollout. */
const foundOf = (rollout: RolloutRecord, state: FoundCall['state']): FoundRollout => ({
  owner: rollout.owner,
  sandbox: sandboxOf(rollout),
  template,
  boot: bootId('boot'),
  address: sandboxAddress('unix:/run/a'),
  label: { ...labelOf(rollout), idleMs: 15 * minute, hardLifeMs: 120 * minute },
  expiresInMs: 100 * minute,
  dispatched: true,
  calls: [{ call: callId('call-1'), tool: 'shell', digest: 'd', counted: true, state }],
});

test('a sandbox that tells a Redis of its rollout, of which that has the line, is given up and changes nothing', async () => {
  const rollout = await world.active('a');
  await finish();
  await repeatsAreOver(world.redis);
  const before = await world.redis.hgetall(hashOf());
  await world.redis.set('corral:{test}:redis', 'another');
  expect(await world.fleet.recovery.restoreRollout(foundOf(rollout, 'confirmed'))).toBe('given_up');
  expect(await world.redis.hgetall(hashOf())).toEqual(before);
  expect(await lifeOf()).toBeGreaterThan(159 * minute);
});

test('a call that recovery found and nobody asked for again is cancelled when its rollout ends', async () => {
  const rollout = await world.active('a');
  await world.redis.flushdb();
  await world.step(0);
  expect(await world.fleet.recovery.restoreRollout(foundOf(rollout, 'done'))).toBe('live');
  await world.fleet.adoptRedis('persisted');
  await finish();
  const repeated = () => world.fleet.calls.admit({ ...admitOf(rollout, 'call-1'), digest: 'd' });
  expect(told(await repeated())).toMatchObject({ code: 'rollout_closed' });
  expect((await lookup('call-1'))?.repeated).toMatchObject({ code: 'rollout_closed' });
  await repeatsAreOver(world.redis);
  expect(told(await repeated())).toMatchObject({ code: 'rollout_closed' });
});

test('what a rollout costs Redis when it is over is a fiftieth of what it was', async () => {
  const item = JSON.stringify({ id: 'task-1', text: 'x'.repeat(20_000) });
  const rollout = await world.active('a', { item });
  const bytes = async () => {
    const names = (await world.redis.keys(`*:${key}`)).concat(await world.redis.keys('*:row:*'));
    const sizes = await Promise.all(names.map((name) => world.redis.memory('USAGE', name)));
    return sizes.reduce<number>((sum, size) => sum + Number(size), 0);
  };
  for (let index = 0; index < 38; index += 1) {
    await admit(`call_${'0123456789'.repeat(2)}${index}`, rollout);
    await world.fleet.calls.settle(settlementOf(key, `call_${'0123456789'.repeat(2)}${index}`));
  }
  const open = await bytes();
  await finish();
  const repeatable = await bytes();
  await repeatsAreOver(world.redis);
  const line = await bytes();
  expect(repeatable).toBeLessThan(open);
  expect(line / open).toBeLessThan(1 / 50);
});
