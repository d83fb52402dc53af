import { describe, expect, test } from 'vitest';
import { keysOf } from '#src/adapters/redis/keys.ts';
import { callId } from '#src/model/ids.ts';
import type { AdmitRequest } from '#src/ports/fleet/calls.ts';
import type { RolloutRecord } from '#src/ports/fleet/records.ts';
import { mostSetupBytes, type ReplayedStep } from '#src/ports/fleet/setup.ts';
import {
  admitOf,
  claimOf,
  drainingOf,
  gradeAsk,
  held,
  keyOf,
  minute,
  recordOf,
  sandboxOf,
  settlementOf,
  worldOfTests,
} from './world.ts';

const world = worldOfTests(6);
const key = keyOf('a');
const keyNames = keysOf('test');

const record = () => recordOf(world.fleet, key);
const sentBy = (call: string) => `what ${call} sent`;

async function admit(call: string, overrides: Partial<AdmitRequest> = {}) {
  return world.fleet.calls.admit(admitOf(await record(), call, { budget: null, ...overrides }));
}

const admitSetup = (call: string, sent: string | null = sentBy(call), bytes = (sent ?? '').length) =>
  admit(call, { setup: { sent, bytes } });

const digestOf = (call: string) => `end of ${call}`;

async function settleSetup(call: string, overrides: Parameters<typeof settlementOf>[2] = {}) {
  const ranIn = sandboxOf(await record());
  return world.fleet.calls.settle(
    settlementOf(key, call, { setup: { digest: digestOf(call) }, ranIn, ...overrides }),
  );
}

/** A rollout of the native face in which these calls of its set-up have run. */
async function setUp(...calls: readonly string[]): Promise<RolloutRecord> {
  await held(world.fleet, claimOf('a', { face: 'native' }));
  for (const call of calls) {
    expect(await admitSetup(call)).toMatchObject({ kind: 'dispatch' });
    await settleSetup(call);
  }
  return record();
}

const lose = async (cause: 'evicted' | 'out_of_memory' = 'evicted') =>
  world.fleet.lifecycle.lose(sandboxOf(await record()), null, cause, {});

/** All steps as they come, each ending as before. */
async function replayed(ended: ReplayedStep | null = null): Promise<readonly string[]> {
  const { generation } = await record();
  const step = await world.fleet.setups.replay(key, generation, ended);
  if (step.kind !== 'step') return [step.kind];
  return [step.sent, ...(await replayed({ step: step.step, digest: digestOf(step.call) }))];
}

const setupKeys = async () => [
  await world.redis.exists(keyNames('setup', key), keyNames('setupSent', key)),
  await world.redis.zcard(keyNames('setups', 'acme')),
  Number(await world.redis.get(keyNames('setupBytes', 'acme'))),
];
const nothingKept = [0, 0, 0];

describe('the mark', () => {
  test('is taken until the first call without it, and refused from then on with nothing changed', async () => {
    await setUp('s1', 's2');
    await admit('c1');
    const before = await record();
    expect(await admitSetup('s3')).toEqual({ kind: 'setup_over' });
    expect(await record()).toEqual(before);
    expect(await world.fleet.calls.list(key)).toHaveLength(3);
  });

  test('of a first call leaves its rollout claimed if a refused call of the model came before', async () => {
    await held(world.fleet, claimOf('a', { face: 'native' }));
    const refused = { outcome: 'refused', code: 'bad_arguments', admitted: 'no' } as const;
    await world.fleet.calls.settle(settlementOf(key, 'c1', refused));
    expect(await admitSetup('s1')).toEqual({ kind: 'setup_over' });
    expect(await record()).toMatchObject({ state: 'claimed', calls: 1 });
  });

  test('is taken after a call that was cancelled before it was sent, and ran nothing', async () => {
    await setUp('s1');
    const cancelled = { outcome: 'cancelled', admitted: 'no', digest: '', onlyNew: true } as const;
    await world.fleet.calls.settle(settlementOf(key, 'c1', cancelled));
    expect(await admitSetup('s2')).toMatchObject({ kind: 'dispatch' });
    await settleSetup('s2');
    expect(await lose()).toMatchObject({ kind: 'swapped' });
  });

  test('of twenty calls sent together with one without it is never taken after that one', async () => {
    await held(world.fleet, claimOf('a', { face: 'native' }));
    const rollout = await record();
    const order: string[] = [];
    const send = async (call: string, overrides: Partial<AdmitRequest>) => {
      const reply = await world.fleet.calls.admit(admitOf(rollout, call, { budget: null, ...overrides }));
      order.push(`${call} ${reply.kind}`);
    };
    const marked = Array.from({ length: 20 }, (_, index) => `s${index}`);
    const setup = { sent: 'x', bytes: 1 };
    await Promise.all([
      ...marked.slice(0, 10).map((call) => send(call, { setup })),
      send('c1', {}),
      ...marked.slice(10).map((call) => send(call, { setup })),
    ]);
    const first = order.indexOf('c1 dispatch');
    expect(order.slice(0, first).every((line) => line.endsWith(' dispatch'))).toBe(true);
    expect(order.slice(first + 1).every((line) => line.endsWith(' setup_over'))).toBe(true);
  });

  test('on a repeat of a call that is known gets what is recorded, also late', async () => {
    await setUp('s1');
    await admit('c1');
    expect(await admitSetup('s1')).toMatchObject({ kind: 'settled' });
  });

  test('costs nothing of the budget, also where the call was never sent', async () => {
    await setUp();
    await admit('s1', { setup: { sent: 'x', bytes: 1 } });
    await world.fleet.calls.unsent(key, callId('s1'), true);
    expect(await record()).toMatchObject({ calls: 0, inFlight: 0 });
    expect(await world.fleet.calls.lookup(key, callId('s1'))).toBeNull();
  });

  test('of a call that was never sent is free again, and so is what was kept of it', async () => {
    await setUp('s1');
    await admitSetup('s2');
    await world.fleet.calls.unsent(key, callId('s2'), false);
    await lose();
    expect(await replayed()).toEqual([sentBy('s1'), 'done']);
    expect(await setupKeys()).toEqual([2, 1, sentBy('s1').length]);
  });

  test('means nothing in a rollout that is older than the Redis that holds it', async () => {
    await setUp('s1');
    await world.redis.set(keyNames('recovered'), world.nowMs());
    await admit('c1');
    expect(await admitSetup('s2')).toMatchObject({ kind: 'dispatch' });
    await settleSetup('s2');
    expect(await lose()).toMatchObject({ kind: 'tainted' });
  });
});

describe('a loss before the first call that is no set-up', () => {
  test('moves the rollout to the next sandbox, which is active when all steps were replayed in their order', async () => {
    const before = await setUp('s1', 's2', 's3');
    expect(await lose()).toMatchObject({ kind: 'swapped' });
    const moved = await record();
    expect(moved).toMatchObject({ state: 'claimed', verdict: 'open', heals: 1, healing: 'evicted' });
    expect(sandboxOf(moved)).not.toBe(sandboxOf(before));
    expect(await admit('c1')).toMatchObject({ kind: 'not_active' });
    expect(await replayed()).toEqual([sentBy('s1'), sentBy('s2'), sentBy('s3'), 'done']);
    expect(await admit('c1')).toMatchObject({ kind: 'dispatch', activated: true });
    expect(await record()).toMatchObject({ state: 'active', healing: null, heals: 1, discarded: null });
    expect(await setupKeys()).toEqual(nothingKept);
  });

  test('keeps the answers of its calls', async () => {
    await setUp('s1');
    await lose();
    expect(await admit('s1')).toMatchObject({ kind: 'settled' });
  });

  test('a half replay is not enough: neither a call nor a grade goes on', async () => {
    await setUp('s1', 's2');
    await lose();
    const { generation } = await record();
    await world.fleet.setups.replay(key, generation, { step: 1, digest: digestOf('s1') });
    expect(await admit('c1')).toMatchObject({ kind: 'not_active' });
    const seenIn = sandboxOf(await record());
    const ask = gradeAsk({ inSandbox: true, seenIn });
    expect(await world.fleet.grades.begin(key, ask)).toEqual({ kind: 'waiting' });
    await replayed({ step: 2, digest: digestOf('s2') });
    expect(await world.fleet.grades.begin(key, ask)).toMatchObject({
      kind: 'run',
      rollout: { healing: null },
    });
  });

  test('set-up may go on after it, and heals again', async () => {
    await setUp('s1');
    await lose();
    await replayed();
    await admitSetup('s2');
    await settleSetup('s2');
    await lose();
    expect(await replayed()).toEqual([sentBy('s1'), sentBy('s2'), 'done']);
    expect(await record()).toMatchObject({ heals: 2 });
  });

  test('a call that ran is withdrawn, and what it ended with in the lost sandbox is not stored', async () => {
    const { epoch } = await setUp('s1');
    await admitSetup('s2');
    await lose();
    expect(await world.fleet.calls.lookup(key, callId('s2'))).toBeNull();
    const late = await world.fleet.calls.settle(
      settlementOf(key, 's2', { ...(epoch && { ranIn: epoch.sandbox }), setup: { digest: 'late' } }),
    );
    expect(late).toMatchObject({ first: false, tainted: false, repeated: { kind: 'moved' } });
    expect(await world.fleet.calls.lookup(key, callId('s2'))).toBeNull();
    expect(await replayed()).toEqual([sentBy('s1'), 'done']);
    expect(await admitSetup('s2')).toMatchObject({ kind: 'dispatch', again: false });
    expect(await record()).toMatchObject({ verdict: 'open', discarded: null });
  });

  test('its late end does not settle the repeat that runs in the next sandbox', async () => {
    const { epoch } = await setUp('s1');
    await admitSetup('s2');
    await lose();
    await replayed();
    await admitSetup('s2');
    const late = settlementOf(key, 's2', { ...(epoch && { ranIn: epoch.sandbox }) });
    expect(await world.fleet.calls.settle(late)).toMatchObject({ repeated: { kind: 'moved' } });
    expect(await world.fleet.calls.lookup(key, callId('s2'))).toMatchObject({ repeated: null, setup: true });
  });

  test('a sandbox that is lost while it is replayed there is followed by another, three times', async () => {
    await setUp('s1');
    for (let heals = 1; heals <= 3; heals += 1) {
      expect(await lose()).toMatchObject({ kind: 'swapped' });
      expect(await replayed()).toEqual([sentBy('s1'), 'done']);
    }
    expect(await lose()).toMatchObject({
      kind: 'tainted',
      rollout: { discarded: { code: 'sandbox_lost', cause: 'evicted' } },
    });
    expect(await setupKeys()).toEqual(nothingKept);
  });

  test('a sandbox that does not take the replay is given up for another', async () => {
    await setUp('s1');
    await lose();
    const { generation, epoch } = await record();
    const reply = await world.fleet.claims.swap(key, generation, 'it is silent', {});
    expect(reply).toMatchObject({ kind: 'held', rollout: { state: 'claimed', healing: 'evicted' } });
    expect(sandboxOf(await record())).not.toBe(epoch?.sandbox);
    expect(await replayed()).toEqual([sentBy('s1'), 'done']);
  });

  test('what was replayed in the sandbox before counts for nothing in the next', async () => {
    await setUp('s1', 's2');
    await lose();
    await replayed();
    await lose();
    expect(await admit('c1')).toMatchObject({ kind: 'not_active' });
    expect(await replayed()).toEqual([sentBy('s1'), sentBy('s2'), 'done']);
  });

  test('an upload comes with its end, and one that broke off is left out of the replay', async () => {
    await setUp();
    await admitSetup('up-1', null);
    await settleSetup('up-1', { setup: { digest: digestOf('up-1'), sent: 'bytes', bytes: 5 } });
    await admitSetup('up-2', null);
    await settleSetup('up-2', { outcome: 'cancelled', setup: { none: true } });
    await lose();
    expect(await replayed()).toEqual(['bytes', 'done']);
  });
});

describe('a replay', () => {
  test('that ends otherwise discards the rollout as lost, for the cause of the loss', async () => {
    await setUp('s1', 's2');
    await lose();
    const { generation, epoch } = await record();
    const { setups } = world.fleet;
    expect(await setups.replay(key, generation, { step: 1, digest: 'another' })).toMatchObject({
      kind: 'lost',
      rollout: {
        discarded: {
          code: 'sandbox_lost',
          cause: 'evicted',
          suspected: null,
          evidence: { replay: 'the call s1 ended otherwise than before' },
        },
        healing: null,
      },
    });
    expect(await admit('c1')).toMatchObject({ kind: 'barred', code: 'sandbox_lost' });
    expect(await drainingOf(world.fleet)).toContain(epoch?.sandbox);
    expect(await setupKeys()).toEqual(nothingKept);
  });

  test('by two gateways at once ends once', async () => {
    await setUp('s1', 's2');
    await lose();
    expect(await Promise.all([replayed(), replayed()])).toEqual([
      expect.arrayContaining(['done']),
      expect.arrayContaining(['done']),
    ]);
    expect(await admit('c1')).toMatchObject({ kind: 'dispatch' });
  });

  test('of another generation, and of a rollout that does not heal, is over', async () => {
    const { generation } = await setUp('s1');
    expect(await world.fleet.setups.replay(key, generation, null)).toEqual({ kind: 'over' });
    await lose();
    expect(await world.fleet.setups.replay(key, generation, null)).toEqual({ kind: 'over' });
  });

  test('in a Redis that took the place of another discards the rollout', async () => {
    await setUp('s1');
    await lose();
    await world.redis.hset(keyNames('setup', key), 'redis', 'the one before');
    expect(await replayed()).toEqual(['lost']);
  });
});

describe('a rollout does not heal', () => {
  const tainted = { kind: 'tainted', rollout: { discarded: { code: 'sandbox_lost', suspected: null } } };

  test('after a call without the mark', async () => {
    await setUp('s1');
    await admit('c1');
    expect(await setupKeys()).toEqual(nothingKept);
    expect(await lose()).toMatchObject(tainted);
  });

  test('from its grading on', async () => {
    const { epoch } = await setUp('s1');
    await world.fleet.grades.begin(key, gradeAsk({ inSandbox: true, seenIn: epoch?.sandbox ?? null }));
    expect(await setupKeys()).toEqual(nothingKept);
    expect(await lose()).toMatchObject(tainted);
  });

  test('with more than 16 MiB of set-up, of which nothing stays', async () => {
    await setUp('s1');
    await admitSetup('s2', 'x', mostSetupBytes - sentBy('s1').length + 1);
    await settleSetup('s2');
    expect((await setupKeys()).at(-1)).toBe(0);
    expect(await admitSetup('s3')).toMatchObject({ kind: 'dispatch' });
    await settleSetup('s3');
    expect(await lose()).toMatchObject(tainted);
  });

  test('with 16 MiB it does', async () => {
    await setUp('s1');
    await admitSetup('s2', 'x', mostSetupBytes - sentBy('s1').length);
    await settleSetup('s2');
    expect(await lose()).toMatchObject({ kind: 'swapped' });
  });

  test.each(['a timeout', 'a controller that knows no end', 'an upload that was not kept'])(
    'after %s',
    async (what) => {
      await setUp('s1');
      await admitSetup('s2', what === 'an upload that was not kept' ? null : 'x');
      const settlement = settlementOf(key, 's2', {
        ...(what === 'a timeout' && { outcome: 'timed_out', code: 'command_timeout' }),
        ...(what === 'an upload that was not kept' && { setup: { digest: 'd', sent: '', bytes: 5 } }),
      });
      await world.fleet.calls.settle(settlement);
      expect(await lose()).toMatchObject(tainted);
    },
  );

  test('where Redis was replaced since its set-up began', async () => {
    await setUp('s1');
    await world.redis.hset(keyNames('setup', key), 'redis', 'the one before');
    expect(await lose()).toMatchObject(tainted);
  });

  test('where its own set-up broke the sandbox: a discard with a mark, because a policy may hide behind one', async () => {
    await setUp('s1');
    expect(await lose('out_of_memory')).toMatchObject({
      kind: 'tainted',
      rollout: { discarded: { code: 'sandbox_lost', cause: 'out_of_memory', suspected: 'command' } },
    });
  });

  test('where its policy broke it: the model’s own, as ever', async () => {
    await setUp('s1');
    await admit('c1');
    expect(await lose('out_of_memory')).toMatchObject({ kind: 'broken' });
  });
});

describe('what is kept', () => {
  test.each(['finished', 'expired', 'voided'])('goes with a rollout that is %s', async (how) => {
    await setUp('s1');
    await lose();
    if (how === 'finished') await world.fleet.lifecycle.close(key, 'finished');
    if (how === 'voided') await world.fleet.lifecycle.void(key, 'a broken item');
    if (how === 'expired') {
      await world.step(30 * minute);
      await world.fleet.lifecycle.expireDue(10);
    }
    expect(await setupKeys()).toEqual(nothingKept);
    const { discarded, healing } = await record();
    const code = { finished: undefined, expired: 'rollout_expired', voided: 'voided' }[how];
    expect([discarded?.code, healing]).toEqual([code, null]);
  });

  test('of a rollout that the release before has ended is released an hour after its life', async () => {
    await setUp('s1');
    await world.redis.del(keyNames('rollout', key));
    await world.step(4 * 60 * minute);
    await held(world.fleet, claimOf('b', { face: 'native' }));
    const other = await recordOf(world.fleet, keyOf('b'));
    await world.fleet.calls.admit(admitOf(other, 's1', { setup: { sent: 'xy', bytes: 2 } }));
    expect(await setupKeys()).toEqual([0, 1, 2]);
  });

  test('of one tenant fills its share of Redis, and nothing more is kept', async () => {
    await setUp('s1');
    await world.redis.set(keyNames('setupBytes', 'acme'), Number.MAX_SAFE_INTEGER);
    await admitSetup('s2');
    await settleSetup('s2');
    expect(await lose()).toMatchObject({ kind: 'tainted' });
  });
});
