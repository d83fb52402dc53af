import { describe, expect, test } from 'vitest';
import { keysOf } from '#src/adapters/redis/keys.ts';
import { callId } from '#src/model/ids.ts';
import type { AdmitRequest } from '#src/ports/fleet/calls.ts';
import type { RolloutRecord } from '#src/ports/fleet/records.ts';
import { mostSetupBytes, type ReplayedStep } from '#src/ports/fleet/setup.ts';
import {
  admitOf,
  claimOf,
  commandsOf,
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

const replay = (generation: number, ended: ReplayedStep | null = null) =>
  world.fleet.setups.replay(key, generation, ended);

/** All steps as they come, each ending as before. */
async function replayed(ended: ReplayedStep | null = null): Promise<readonly string[]> {
  const { generation } = await record();
  const step = await replay(generation, ended);
  if (step.kind !== 'step') return [step.kind];
  return [step.sent, ...(await replayed({ step: step.step, digest: digestOf(step.call) }))];
}

/** Commands of Redis for one more call with the mark, after so many. */
async function commandsAfter(calls: number): Promise<number> {
  await world.reset();
  await world.supply(1);
  await setUp(...Array.from({ length: calls }, (_, index) => `s${index}`));
  return commandsOf(world.redis, () => admitSetup('last'));
}

const setupKeys = async () => [
  await world.redis.exists(keyNames('setup', key), keyNames('setupSent', key)),
  Number(await world.redis.get(keyNames('setupBytes', 'acme'))),
];
const nothingKept = [0, 0];

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

  test('is taken after cancelled calls of both kinds, and refused after the first call that ran without it', async () => {
    await setUp('s1');
    const cancelled = { outcome: 'cancelled', admitted: 'no' } as const;
    await admitSetup('s2');
    await settleSetup('s2', cancelled);
    await world.fleet.calls.settle(settlementOf(key, 'c1', { ...cancelled, digest: '', onlyNew: true }));
    expect(await admitSetup('s3')).toMatchObject({ kind: 'dispatch' });
    await settleSetup('s3');
    await admit('c2');
    await world.fleet.calls.settle(settlementOf(key, 'c2', cancelled));
    expect(await admitSetup('s4')).toEqual({ kind: 'setup_over' });
  });

  test('costs Redis as few commands after 200 calls as after three', async () => {
    // The state's own looks at Redis are counted, too: a few at most, where a look at each call would be 200.
    expect((await commandsAfter(200)) - (await commandsAfter(3))).toBeLessThan(20);
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
    expect(await admitSetup('s1')).toMatchObject({ kind: 'in_journal' });
  });

  test('leaves a tool call in the budget, where it counts as each does', async () => {
    await setUp();
    const budget = { toolCalls: 40, rolloutMs: 60_000 };
    await admit('s1', { budget, setup: { sent: 'x', bytes: 1 } });
    expect(await record()).toMatchObject({ calls: 1 });
    await world.fleet.calls.unsent(key, callId('s1'), 'try-1', true);
    expect(await record()).toMatchObject({ calls: 0, inFlight: 0 });
    expect(await world.fleet.calls.lookup(key, callId('s1'))).toBeNull();
  });

  test('of a call that was never sent is free again, and so is what was kept of it', async () => {
    await setUp('s1');
    await admitSetup('s2');
    await world.fleet.calls.unsent(key, callId('s2'), 'try-1', false);
    await lose();
    expect(await replayed()).toEqual([sentBy('s1'), 'done']);
    expect(await setupKeys()).toEqual([2, sentBy('s1').length]);
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
    expect(await admit('s1')).toMatchObject({ kind: 'in_journal' });
  });

  test('a half replay is not enough: no call goes on', async () => {
    await setUp('s1', 's2');
    await lose();
    const { generation } = await record();
    await replay(generation);
    await replay(generation, { step: 1, digest: digestOf('s1') });
    expect(await admit('c1')).toMatchObject({ kind: 'not_active' });
    expect(await admitSetup('s3')).toMatchObject({ kind: 'not_active' });
  });

  test('a policy’s call that ran nothing ends set-up, and not the healing', async () => {
    await setUp('s1');
    const refused = { outcome: 'refused', code: 'bad_arguments', admitted: 'no' } as const;
    await world.fleet.calls.settle(settlementOf(key, 'c1', refused));
    expect(await admitSetup('s2')).toEqual({ kind: 'setup_over' });
    expect(await lose()).toMatchObject({ kind: 'swapped' });
    await world.fleet.calls.settle(settlementOf(key, 'c2', refused));
    expect(await replayed()).toEqual([sentBy('s1'), 'done']);
    expect(await admit('c3')).toMatchObject({ kind: 'dispatch' });
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

  test('a sandbox that is lost while it is replayed there is followed by another, three in all', async () => {
    await setUp('s1');
    for (let sandboxes = 1; sandboxes <= 3; sandboxes += 1) {
      expect(await lose()).toMatchObject({ kind: 'swapped' });
      expect(await replayed()).toEqual([sentBy('s1'), 'done']);
    }
    expect(await lose()).toMatchObject({ kind: 'swapped' });
    expect(await replayed()).toEqual(['lost']);
    expect(await record()).toMatchObject({ discarded: { code: 'sandbox_lost', cause: 'evicted' } });
    expect(await setupKeys()).toEqual(nothingKept);
  });

  test('a sandbox that is given up in a replay counts as one of the three', async () => {
    await setUp('s1');
    await lose();
    for (let sandboxes = 1; sandboxes <= 3; sandboxes += 1) {
      const { generation } = await record();
      expect(await replay(generation)).toMatchObject({ kind: 'step' });
      await world.fleet.claims.swap(key, generation, 'it is silent', {});
    }
    expect(await replayed()).toEqual(['lost']);
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

  test('an upload comes with its end', async () => {
    await setUp();
    await admitSetup('up-1', null);
    await settleSetup('up-1', { setup: { digest: digestOf('up-1'), sent: 'bytes', bytes: 5 } });
    await lose();
    expect(await replayed()).toEqual(['bytes', 'done']);
  });
});

describe('a replay', () => {
  test('that ends otherwise discards the rollout as lost, for the cause of the loss', async () => {
    await setUp('s1', 's2');
    await lose();
    const { generation, epoch } = await record();
    expect(await replay(generation, { step: 1, digest: 'another' })).toMatchObject({
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
    expect(await replay(generation)).toEqual({ kind: 'over' });
    await lose();
    expect(await replay(generation)).toEqual({ kind: 'over' });
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

  test('while a call of it runs, and settles that with the loss', async () => {
    await setUp('s1');
    await admitSetup('s2');
    expect(await lose()).toMatchObject(tainted);
    expect(await world.fleet.calls.lookup(key, callId('s2'))).toMatchObject({
      repeated: { kind: 'barred', code: 'sandbox_lost' },
    });
    expect(await setupKeys()).toEqual(nothingKept);
  });

  test('after calls of it that overlapped', async () => {
    await setUp('s1');
    await admitSetup('s2');
    await admitSetup('s3');
    await settleSetup('s2');
    await settleSetup('s3');
    expect(await lose()).toMatchObject(tainted);
  });

  test('after a call that ran when another gateway sent it again, and was not sent by that one', async () => {
    await setUp('s1');
    await admitSetup('s2');
    await admit('s2', { setup: { sent: sentBy('s2'), bytes: 1 }, sender: 'try-2' });
    await world.fleet.calls.unsent(key, callId('s2'), 'try-1', false);
    expect(await lose()).toMatchObject(tainted);
  });

  test('after more than 256 calls', async () => {
    await setUp(...Array.from({ length: 257 }, (_, index) => `s${index}`));
    expect(await lose()).toMatchObject(tainted);
  });

  test('after more than 5 minutes of calls', async () => {
    await setUp('s1');
    await admitSetup('s2');
    await world.step(5 * minute + 1);
    await settleSetup('s2');
    expect(await lose()).toMatchObject(tainted);
  });

  test('in a Redis that is nearly full as its set-up is kept', async () => {
    await setUp('s1');
    await world.redis.set(keyNames('full'), 1);
    await admitSetup('s2');
    await world.redis.del(keyNames('full'));
    await settleSetup('s2');
    expect(await lose()).toMatchObject(tainted);
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

  test('where its own set-up broke the sandbox after its grading began: the same', async () => {
    const { epoch } = await setUp('s1');
    await world.fleet.grades.begin(key, gradeAsk({ inSandbox: true, seenIn: epoch?.sandbox ?? null }));
    expect(await lose('out_of_memory')).toMatchObject({
      kind: 'tainted',
      rollout: { discarded: { suspected: 'command' } },
    });
  });

  test('where its own set-up broke the sandbox, and a policy’s call that ran nothing came before: the same', async () => {
    await setUp('s1');
    const refused = { outcome: 'refused', code: 'bad_arguments', admitted: 'no' } as const;
    await world.fleet.calls.settle(settlementOf(key, 'c1', refused));
    expect(await lose('out_of_memory')).toMatchObject({ kind: 'tainted' });
  });

  test('where its policy broke it: the model’s own, as ever', async () => {
    await setUp('s1');
    await admit('c1');
    expect(await lose('out_of_memory')).toMatchObject({ kind: 'broken' });
  });
});

describe('a rollout that heals is not graded', () => {
  test.each([
    'before its replay',
    'after half of it',
    'in line for the next sandbox',
    'after Redis was replaced',
  ])('%s, by no grader and no score that is brought', async (when) => {
    for (const inSandbox of [false, true]) {
      await world.reset();
      await world.supply(when === 'in line for the next sandbox' ? 1 : 6);
      await setUp('s1', 's2');
      await lose();
      const { generation } = await record();
      if (when === 'after half of it') await replay(generation);
      if (when === 'after Redis was replaced') {
        await replayed();
        await world.redis.hset(keyNames('setup', key), 'redis', 'the one before');
      }
      const begun = await world.fleet.grades.begin(key, gradeAsk({ inSandbox }));
      expect(begun).toMatchObject({ kind: 'barred', code: 'sandbox_lost', first: true });
      await expect(world.fleet.grades.score(key, 1, 0, {})).rejects.toMatchObject({ code: 'sandbox_lost' });
      expect(await record()).toMatchObject({
        score: null,
        discarded: {
          code: 'sandbox_lost',
          evidence: { replay: 'it was graded before its set-up was replayed' },
        },
      });
    }
  });

  test('and is after a whole one', async () => {
    await setUp('s1');
    await lose();
    await replayed();
    const ask = gradeAsk({ inSandbox: true, seenIn: sandboxOf(await record()) });
    expect(await world.fleet.grades.begin(key, ask)).toMatchObject({
      kind: 'run',
      rollout: { healing: null },
    });
  });

  test('although the sandbox before had a whole replay, while the rollout waits in line', async () => {
    await world.reset();
    await world.supply(2);
    await setUp('s1');
    await lose();
    await replayed();
    await lose();
    expect(await record()).toMatchObject({ state: 'waiting', healing: 'evicted' });
    expect(await world.fleet.grades.begin(key, gradeAsk({ inSandbox: false }))).toMatchObject({
      kind: 'barred',
    });
  });
});

describe('an end that comes late', () => {
  test('from the lost sandbox for a call that runs in the next one discards the rollout', async () => {
    const { epoch } = await setUp('s1');
    await lose();
    await replayed();
    await admitSetup('s2');
    const late = settlementOf(key, 's2', {
      ...(epoch && { ranIn: epoch.sandbox }),
      setup: { digest: 'late' },
    });
    expect(await world.fleet.calls.settle(late)).toMatchObject({ tainted: true });
    expect(await record()).toMatchObject({ discarded: { code: 'sandbox_lost', cause: 'pod_replaced' } });
  });

  test('of a call that Redis has forgotten discards a rollout that heals', async () => {
    await setUp('s1');
    await lose();
    const ranIn = sandboxOf(await record());
    await world.fleet.calls.settle(settlementOf(key, 'c1', { ranIn }));
    expect(await record()).toMatchObject({ verdict: 'discarded', discarded: { code: 'sandbox_lost' } });
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

  test('ends by itself, if a rollback leaves no version that removes it', async () => {
    await setUp('s1');
    const names = [keyNames('setup', key), keyNames('setupSent', key), keyNames('setupBytes', 'acme')];
    for (const name of names) expect(await world.redis.pttl(name)).toBeGreaterThan(minute);
  });

  test('of one tenant fills its share of Redis, and nothing more is kept', async () => {
    await setUp('s1');
    await world.redis.set(keyNames('setupBytes', 'acme'), Number.MAX_SAFE_INTEGER);
    await admitSetup('s2');
    await settleSetup('s2');
    expect(await lose()).toMatchObject({ kind: 'tainted' });
  });
});
