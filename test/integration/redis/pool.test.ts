import { describe, expect, test } from 'vitest';
import { bootId, environmentName, runId, sandboxId, templateDigest } from '#src/model/ids.ts';
import { sandboxAddress } from '#src/model/rollout.ts';
import type { Errand, PoolTarget } from '#src/ports/fleet/pool.ts';
import {
  claimOf,
  drainingOf,
  held,
  keyOf,
  minute,
  ownerOf,
  recordOf,
  sandboxOf,
  second,
  worldOfTests,
  template,
  tenant,
} from './world.ts';
import { reserveOne } from '#test/support/reserve-one.ts';

const world = worldOfTests();
let reserved = 0;

const other = templateDigest('U');
const target = (minReady: number, max = 100, of = template): PoolTarget => ({ template: of, minReady, max });

function reserve(targets: readonly PoolTarget[], budget = 100, name = `t${(reserved += 1)}`) {
  return reserveOne(world.fleet.pool, sandboxId(`s-${name}`), targets, budget, minute);
}
/** Reserves for sandboxes of these names in one script. */
const reserveAt = async (targets: readonly PoolTarget[], names: readonly string[], budget = 100) =>
  world.fleet.pool.reserve(names.map(sandboxId), targets, budget, minute);
const ready = (sandbox: string) =>
  world.fleet.pool.ready(sandboxId(sandbox), bootId('b'), sandboxAddress('unix:/run/s'));
const counts = async (of = template) => (await world.fleet.pool.counts([of]))[0];
const wait = (name: string, run = 'run-1', of = template) =>
  world.fleet.claims.claim(claimOf(name, { owner: ownerOf(name, run), template: of }));
async function fail(times: number, code: 'start_failed' | 'unschedulable' = 'start_failed') {
  for (let index = 0; index < times; index += 1) {
    const reserved = await reserve([target(1)]);
    if (reserved === null) throw new Error('nothing was reserved');
    await world.fleet.pool.launchFailed(reserved.sandbox, code, 'exit 1', null);
  }
}

/** What a rollout that joins the line is told of failing starts. */
const failing = async (name: string) => {
  const reply = await wait(name);
  return reply.kind === 'waiting' ? (reply.failing ?? null) : reply.kind;
};

const announce = (count: number, run = 'run-1', lifeMs = 10 * minute) =>
  world.fleet.pool.announce(template, { tenant, run: runId(run), count, lifeMs });

/** Reserves until nothing more is wanted; returns how many. */
async function reserveAll(targets: readonly PoolTarget[]): Promise<number> {
  let started = 0;
  while ((await reserve(targets)) !== null) started += 1;
  return started;
}

/** Whether a controller that has no template hears that it lacks one. */
const isUnplanned = async () => (await reserveAt([], ['nothing'])).isUnplanned;
/** Its only sandbox is ready. */
const fill = async () => {
  const reserved = await reserve([target(1)]);
  if (reserved === null) throw new Error('nothing was reserved');
  await ready(reserved.sandbox);
  expect(await reserve([target(1)])).toBeNull();
  return reserved.sandbox;
};

describe('a controller without the template hears that one is wanted', () => {
  test('while a rollout waits for it', async () => {
    await wait('a');
    expect(await isUnplanned()).toBe(true);
    await world.fleet.lifecycle.close(keyOf('a'), 'finished');
    expect(await reserve([target(0)])).toBeNull();
    expect(await isUnplanned()).toBe(false);
  });

  test('not while its pool is full, until a sandbox is taken from it', async () => {
    await fill();
    expect(await isUnplanned()).toBe(false);
    await wait('a');
    expect(await isUnplanned()).toBe(true);
  });

  test('when its pool loses a sandbox, has one fail, is announced, or is said to lack something', async () => {
    const lost = await fill();
    await world.fleet.lifecycle.lose(lost, null, 'evicted', {});
    expect(await isUnplanned()).toBe(true);
    await fill();
    await announce(3);
    expect(await isUnplanned()).toBe(true);
    await world.reset();
    await world.fleet.pool.lookAt([other]);
    expect(await isUnplanned()).toBe(true);
    await world.reset();
    await fail(1);
    expect(await isUnplanned()).toBe(true);
  });
});

describe('a reservation', () => {
  test('refills up to the target and no further: what was asked for counts as there', async () => {
    expect(await reserve([target(2)])).toMatchObject({ template });
    expect(await reserve([target(2)])).toMatchObject({ template });
    expect(await reserve([target(2)])).toBeNull();
    expect(await counts()).toMatchObject({ launching: 2, ready: 0 });
  });

  test('is made among 3,000 templates as among three', async () => {
    const many = Array.from({ length: 3_000 }, (_, index) => target(1, 1, templateDigest(`of-${index}`)));
    const first = await reserve(many);
    const second = await reserve(many);
    expect(first).not.toBeNull();
    expect(second).not.toBeNull();
    expect(second?.template).not.toBe(first?.template);
  });

  test('is for as many sandboxes as are lacking, in the order of the line, each told what it is for', async () => {
    await wait('a', 'run-1', other);
    const { launches, starting } = await reserveAt(
      [target(2), { ...target(0, 100, other), environment: environmentName('search') }],
      ['s1', 's2', 's3', 's4'],
    );
    const refill = { template, reason: 'refill', run: null, environment: 'unknown' };
    expect(launches).toEqual([
      { sandbox: 's1', template: other, reason: 'waiting', run: 'acme/run-1', environment: 'search' },
      { sandbox: 's2', ...refill },
      { sandbox: 's3', ...refill },
    ]);
    expect(starting).toBe(3);
  });

  test('of many stays inside the start budget and the pool’s maximum', async () => {
    const names = Array.from({ length: 9 }, (_, index) => `s${index}`);
    expect((await reserveAt([target(50, 100)], names, 4)).launches).toHaveLength(4);
    await world.reset();
    expect((await reserveAt([target(50, 3)], names)).launches).toHaveLength(3);
  });

  test('of many sends one probe while the breaker is open', async () => {
    await fail(10);
    await world.step(30 * second);
    expect((await reserveAt([target(5)], ['s1', 's2'])).launches).toHaveLength(1);
  });

  test('stays inside the start budget, also when many ask at once', async () => {
    const replies = await Promise.all(Array.from({ length: 30 }, () => reserve([target(50)], 8)));
    expect(replies.filter((reply) => reply !== null)).toHaveLength(8);
  });

  test('stays inside the maximum of the pool, held sandboxes included', async () => {
    await world.supply(2);
    await held(world.fleet, claimOf('a'));
    await held(world.fleet, claimOf('b'));
    await wait('c');
    expect(await reserve([target(0, 2)])).toBeNull();
    expect(await reserve([target(0, 3)])).not.toBeNull();
  });

  test('starts one sandbox for each waiting rollout and not more', async () => {
    await wait('a');
    await wait('b');
    const replies = await Promise.all(Array.from({ length: 6 }, () => reserve([target(0)])));
    expect(replies.filter((reply) => reply !== null)).toHaveLength(2);
  });

  test('serves waiting rollouts before any refill', async () => {
    await wait('a', 'run-1', other);
    expect(await reserve([target(10), target(0, 100, other)])).toMatchObject({ template: other });
    expect(await reserve([target(10), target(0, 100, other)])).toMatchObject({ template });
  });

  test('does not let a run with many waiters stand before another', async () => {
    for (let index = 0; index < 5; index += 1) await wait(`a${index}`, 'large', template);
    await wait('b', 'small', other);
    const targets = [target(0), target(0, 100, other)];
    const started = [await reserve(targets), await reserve(targets), await reserve(targets)];
    expect(started.map((reply) => reply?.template)).toEqual([template, other, template]);
  });

  test('goes round the templates of one run', async () => {
    for (const name of ['a1', 'a2']) await wait(name, 'run-1', template);
    for (const name of ['b1', 'b2']) await wait(name, 'run-1', other);
    const targets = [target(0), target(0, 100, other)];
    const started = [await reserve(targets), await reserve(targets), await reserve(targets)];
    expect(started.map((reply) => reply?.template)).toEqual([template, other, template]);
  });

  test('refills the emptiest pool first', async () => {
    await world.supply(3);
    const targets = [target(4), target(2, 100, other)];
    expect(await reserve(targets)).toMatchObject({ template: other });
  });

  test('is not made for waiters whom nobody renews', async () => {
    await wait('a');
    await world.step(11 * second);
    expect(await reserve([target(0)])).toBeNull();
  });

  test('under the name of a sandbox that exists is refused', async () => {
    await reserve([target(5)], 100, 'one');
    expect(await reserve([target(5)], 100, 'one')).toBeNull();
  });
});

describe('a start', () => {
  test('under way is listed with what it is for, once it has been for so long', async () => {
    await wait('a');
    await reserve([target(0)], 100, 'one');
    const launch = {
      sandbox: 's-one',
      template,
      reason: 'waiting',
      run: 'acme/run-1',
      environment: 'unknown',
    };
    expect(await world.fleet.pool.starts(second)).toEqual([]);
    await world.step(second);
    expect(await world.fleet.pool.starts(second)).toEqual([launch]);
    await ready('s-one');
    expect(await world.fleet.pool.starts(0)).toEqual([]);
  });

  test('that succeeds goes to who waits, cold', async () => {
    await wait('a');
    await reserve([target(0)], 100, 'one');
    expect(await ready('s-one')).toBe(keyOf('a'));
    expect(await recordOf(world.fleet, keyOf('a'))).toMatchObject({ state: 'claimed', launchType: 'cold' });
    expect(await ready('s-one')).toBe(keyOf('a'));
  });

  test('that hangs gives its slot back and is destroyed; when it answers after all nobody gets it', async () => {
    await reserve([target(1)], 1, 'one');
    await world.step(minute);
    expect(await world.fleet.pool.overdueLaunches()).toEqual(['s-one']);
    expect(await drainingOf(world.fleet)).toEqual(['s-one']);
    await wait('a');
    expect(await ready('s-one')).toBeNull();
    expect(await reserve([target(1)], 1)).not.toBeNull();
    expect((await counts())?.lastFailure).toMatchObject({ code: 'start_timeout' });
  });

  test('of a sandbox that nobody reserved is never adopted', async () => {
    await wait('a');
    expect(await ready('stranger')).toBeNull();
    expect((await recordOf(world.fleet, keyOf('a'))).state).toBe('waiting');
  });

  test('whose sandbox the provider lost counts as failed', async () => {
    await reserve([target(1)], 1, 'one');
    await world.fleet.pool.forget(sandboxId('s-one'));
    expect(await counts()).toMatchObject({ launching: 0, lastFailure: { code: 'start_failed' } });
    expect(await world.fleet.pool.known()).toEqual(new Map());
  });
});

describe('the breaker', () => {
  test('opens after ten failures in a row, and one probe may go out each 30 s', async () => {
    await fail(9);
    expect(await counts()).toMatchObject({ breaker: 'closed' });
    await fail(1);
    expect(await counts()).toMatchObject({ breaker: 'open' });
    expect(await reserve([target(1)])).toBeNull();
    await world.step(30 * second);
    const probes = await Promise.all([reserve([target(5)]), reserve([target(5)]), reserve([target(5)])]);
    expect(probes.filter((probe) => probe !== null)).toHaveLength(1);
    expect(await counts()).toMatchObject({ breaker: 'probing' });
  });

  test('stays open when the probe fails, until the next 30 s are over', async () => {
    await fail(10);
    await world.step(30 * second);
    await fail(1);
    expect(await reserve([target(1)])).toBeNull();
    await world.step(30 * second);
    expect(await reserve([target(1)])).not.toBeNull();
  });

  test('closes after one success', async () => {
    await fail(10);
    await world.step(30 * second);
    await reserve([target(5)], 100, 'probe');
    await ready('s-probe');
    expect(await counts()).toMatchObject({ breaker: 'closed', lastFailure: null });
    expect(await reserve([target(5)])).not.toBeNull();
  });

  test('counts failures in a row only', async () => {
    await fail(9);
    await reserve([target(5)], 100, 'good');
    await ready('s-good');
    await world.fleet.pool.retire(template, 0, 0);
    await fail(9);
    expect(await counts()).toMatchObject({ breaker: 'closed' });
  });

  test('does not count unschedulable', async () => {
    await fail(12, 'unschedulable');
    expect(await counts()).toMatchObject({ breaker: 'closed', lastFailure: { code: 'unschedulable' } });
  });

  test('of one template does not stop another', async () => {
    await fail(10);
    expect(await reserve([target(1), target(1, 10, other)])).toMatchObject({ template: other });
  });
});

describe('starts that fail alike', () => {
  const noFolder = 'no folder /srv/root';
  async function failAlike(
    times: number,
    reason: string | null = noFolder,
    code: 'start_failed' | 'setup_failed' = 'start_failed',
  ) {
    for (let index = 0; index < times; index += 1) {
      const reserved = await reserve([target(1)]);
      if (reserved === null) throw new Error('nothing was reserved');
      await world.step(10);
      await world.fleet.pool.launchFailed(reserved.sandbox, code, `${code} at ${world.nowMs()}`, reason);
    }
  }
  test('stop after three, and who waits is told which and how many', async () => {
    expect(await failing('a')).toBeNull();
    await failAlike(2);
    expect(await failing('a')).toBeNull();
    const beganMs = world.nowMs();
    await failAlike(1);
    expect(await failing('a')).toEqual({
      code: 'start_failed',
      message: `start_failed at ${beganMs + 10}`,
      alike: 3,
      beganMs,
    });
    expect(await counts()).toMatchObject({ breaker: 'open' });
    expect(await reserve([target(1)])).toBeNull();
  });

  test.each([
    ['another reason', 'no folder /srv/data', 'start_failed'],
    ['another code', noFolder, 'setup_failed'],
    ['none that is known', null, 'start_failed'],
  ] as const)('are counted again after one that failed for %s', async (_what, reason, code) => {
    await failAlike(2);
    await failAlike(1, reason, code);
    await failAlike(2);
    expect(await failing('a')).toBeNull();
    await failAlike(1);
    expect(await failing('a')).toMatchObject({ alike: 3 });
  });

  test('are never those that another sandbox may escape, however many', async () => {
    await failAlike(9, null);
    expect(await failing('a')).toBeNull();
    expect(await counts()).toMatchObject({ breaker: 'closed' });
  });

  test('are forgotten after one that succeeds', async () => {
    await failAlike(2);
    await reserve([target(1)], 100, 'good');
    await ready('s-good');
    await world.fleet.pool.retire(template, 0, 0);
    await failAlike(2);
    expect(await failing('a')).toBeNull();
  });

  test('prove nothing while a sandbox of the template stands: another machine can start it', async () => {
    await world.supply(1);
    await held(world.fleet, claimOf('has-it'));
    await failAlike(5);
    expect(await failing('a')).toBeNull();
    await world.fleet.lifecycle.close(keyOf('has-it'), 'finished');
    await failAlike(1);
    expect(await failing('a')).toMatchObject({ alike: 6 });
  });

  test('are looked at again by whoever waits, for two renewals', async () => {
    await wait('a');
    await wait('b', 'run-1', other);
    const looks = async () => [...(await world.fleet.claims.renew([keyOf('a'), keyOf('b')]))];
    await failAlike(2);
    expect(await looks()).toEqual([]);
    await failAlike(1);
    expect(await looks()).toEqual([keyOf('a')]);
    await world.step(2 * second);
    expect(await looks()).toEqual([keyOf('a')]);
    await world.step(3 * second);
    expect(await looks()).toEqual([]);
  });

  test('are looked at again in the day after a loss of Redis data, too', async () => {
    await world.fleet.recovery.markLost([keyOf('lost')]);
    await wait('a');
    await failAlike(3);
    expect([...(await world.fleet.claims.renew([keyOf('a')]))]).toEqual([keyOf('a')]);
  });

  test('are tried once more for who comes later, at once, and one success serves all who wait', async () => {
    await wait('early');
    await failAlike(3);
    await wait('early');
    expect(await reserve([target(0)])).toBeNull();
    await wait('late');
    const probe = await reserve([target(0)]);
    expect(await reserve([target(0)])).toBeNull();
    if (probe === null) throw new Error('nobody tried');
    expect(await ready(probe.sandbox)).toBe(keyOf('early'));
    expect(await failing('late')).toBeNull();
    expect(await reserve([target(0)])).not.toBeNull();
  });

  test('are told to whoever asks where a rollout stands, from the first on', async () => {
    const place = () => world.fleet.claims.place(keyOf('b'));
    await wait('a');
    await wait('b');
    expect(await place()).toEqual({ ahead: 1, lastFailure: null });
    await failAlike(1);
    const { atMs, ...failure } = (await place())?.lastFailure ?? { atMs: 0 };
    expect([failure, atMs]).toEqual([
      { code: 'start_failed', message: `start_failed at ${world.nowMs()}`, alike: 1 },
      world.nowMs(),
    ]);
    await world.fleet.lifecycle.close(keyOf('b'), 'finished');
    expect([await place(), await world.fleet.claims.place(keyOf('nobody'))]).toEqual([null, null]);
  });
});

describe('retiring', () => {
  test('sends unclaimed sandboxes that are too old to be destroyed, and spares held and young ones', async () => {
    const [old, claimed] = await world.supply(2);
    await held(world.fleet, claimOf('a'));
    await world.step(60 * minute);
    await world.supply(1);
    expect(await world.fleet.pool.retire(template, 60 * minute, 10)).toBe(1);
    expect(await drainingOf(world.fleet)).toEqual([claimed]);
    expect((await recordOf(world.fleet, keyOf('a'))).epoch?.sandbox).toBe(old);
  });

  test('keeps as many as are wanted, the youngest', async () => {
    const [oldest] = await world.supply(1);
    await world.step(second);
    await world.supply(2);
    expect(await world.fleet.pool.retire(template, 60 * minute, 2)).toBe(1);
    expect(await drainingOf(world.fleet)).toEqual([oldest]);
  });
});

describe('withdrawing', () => {
  test('sends a sandbox that is nobody’s to be destroyed, and leaves one that is somebody’s to its rollout', async () => {
    const [claimed, free] = (await world.supply(2)).map(sandboxId);
    await held(world.fleet, claimOf('a'));
    const withdraw = (sandbox = sandboxId('unknown')) =>
      world.fleet.pool.withdraw(sandbox, 'its node is drained');
    expect([await withdraw(claimed), await withdraw(free), await withdraw()]).toEqual([false, true, false]);
    expect(await drainingOf(world.fleet)).toEqual([free]);
  });

  test('one that still starts is given up: who waits gets another, and ready comes too late for it', async () => {
    await wait('a');
    const leaving = await reserve([target(0)], 1);
    if (leaving === null) throw new Error('nothing was wanted');
    expect(await world.fleet.pool.withdraw(leaving.sandbox, 'its node is drained')).toBe(true);
    expect(await ready(leaving.sandbox)).toBeNull();
    expect((await recordOf(world.fleet, keyOf('a'))).state).toBe('waiting');
    expect(await drainingOf(world.fleet)).toEqual([leaving.sandbox]);
    expect(await counts()).toMatchObject({
      breaker: 'closed',
      lastFailure: { code: 'provider_unavailable' },
    });
    const next = await reserve([target(0)], 1);
    if (next === null) throw new Error('its slot was not given back');
    expect(await ready(next.sandbox)).toBe(keyOf('a'));
  });
});

describe('forgetting', () => {
  test('a sandbox that a rollout holds is refused: its loss goes through the one door', async () => {
    await world.supply(1);
    const rollout = await world.active('a');
    await world.fleet.pool.forget(sandboxOf(rollout));
    expect((await world.fleet.pool.known()).get(sandboxOf(rollout))?.owner).toBe(keyOf('a'));
  });

  test('a destroyed one leaves nothing', async () => {
    await world.supply(1);
    const rollout = await world.active('a');
    await world.fleet.lifecycle.close(keyOf('a'), 'finished');
    await world.fleet.pool.forget(sandboxOf(rollout));
    expect(await drainingOf(world.fleet)).toEqual([]);
    expect((await world.fleet.pool.known()).size).toBe(0);
    expect(await world.fleet.pool.knownTemplates()).toEqual([]);
  });
});

test('known sandboxes tell phase, since when, and whose they are', async () => {
  const [sandbox] = await world.supply(1);
  await reserve([target(5)], 100, 'one');
  await held(world.fleet, claimOf('a'));
  expect(await world.fleet.pool.known()).toEqual(
    new Map([
      [
        sandbox,
        { phase: 'ready', sinceMs: world.nowMs(), owner: keyOf('a'), template, journalUnread: false },
      ],
      ['s-one', { phase: 'starting', sinceMs: world.nowMs(), owner: null, template, journalUnread: false }],
    ]),
  );
});

test('templates are known while rollouts wait for them or sandboxes exist of them', async () => {
  await wait('a', 'run-1', other);
  await world.supply(1);
  expect((await world.fleet.pool.knownTemplates()).toSorted()).toEqual([template, other].toSorted());
  await world.fleet.lifecycle.close(keyOf('a'), 'deleted');
  expect(await world.fleet.pool.knownTemplates()).toEqual([template]);
});

test('a template is forgotten while its only waiter is silent, and known again when that returns to its place', async () => {
  await wait('a', 'run-1', other);
  await world.step(minute);
  expect(await world.fleet.pool.knownTemplates()).toEqual([]);
  await wait('a', 'run-1', other);
  expect(await world.fleet.pool.knownTemplates()).toEqual([other]);
});

test('a template whose last start has failed stays known, so that its breaker is counted', async () => {
  await fail(1);
  expect(await world.fleet.pool.knownTemplates()).toEqual([template]);
});

test('a rollout that starts to wait gives controllers a hint', async () => {
  const hinted = new Promise<void>((resolve) => {
    world.fleet.pool.onWork(resolve);
  });
  await wait('a');
  await hinted;
});

describe('an announced burst', () => {
  test('is refilled above the minimum of the pool and never above its maximum', async () => {
    expect(await announce(5)).toBe(world.nowMs() + 10 * minute);
    expect(await counts()).toMatchObject({ announced: 5 });
    expect(await reserveAll([target(2, 100)])).toBe(5);
    await announce(500);
    expect(await reserveAll([target(2, 8)])).toBe(3);
  });

  test('below the minimum of the pool changes nothing', async () => {
    await announce(1);
    expect(await reserveAll([target(3)])).toBe(3);
  });

  test('is over when its time has passed', async () => {
    await announce(5);
    await world.step(10 * minute + 1);
    expect(await counts()).toMatchObject({ announced: 0 });
    expect(await reserveAll([target(1)])).toBe(1);
  });

  test('that came is not made ready a second time', async () => {
    await world.supply(1);
    await held(world.fleet, claimOf('early'));
    await announce(3);
    await world.supply(3);
    for (const name of ['a', 'b']) await held(world.fleet, claimOf(name));
    expect(await counts()).toMatchObject({ ready: 1, announced: 1 });
    expect(await reserveAll([target(0)])).toBe(0);
  });

  test('of another run is added; another word of the same run replaces its first', async () => {
    await announce(3, 'run-1');
    await announce(4, 'run-2');
    await announce(2, 'run-1');
    expect(await counts()).toMatchObject({ announced: 6 });
  });

  test('keeps its ready sandboxes from being retired as surplus', async () => {
    await world.supply(4);
    await announce(3);
    expect(await world.fleet.pool.retire(template, 60 * minute, 1)).toBe(1);
    expect(await counts()).toMatchObject({ ready: 3 });
  });

  test('tells controllers at once that there is work', async () => {
    const rung = new Promise<void>((resolve) => {
      const stop = world.fleet.pool.onWork(() => {
        stop();
        resolve();
      });
    });
    await announce(1);
    await rung;
  });

  test('is refused where too many runs announce already, and taken when their time has passed', async () => {
    for (let run = 0; run < 64; run += 1) await announce(1, `many-${run}`, minute);
    await expect(announce(1, 'one-more')).rejects.toMatchObject({ code: 'line_full' });
    await announce(2, 'many-1');
    await world.step(minute + 1);
    await announce(1, 'one-more');
    expect(await counts()).toMatchObject({ announced: 1 + 2 });
  });
});

describe('an errand', () => {
  test('is given to one of those who ask in the same moment, and to another when the first had its time', async () => {
    const [one = ''] = await world.supply(1);
    const take = (errand: Errand) =>
      world.fleet.pool.takeErrands(errand, [sandboxId(one), sandboxId('gone')]);
    expect(await take('destroy')).toEqual([one, 'gone']);
    expect(await take('destroy')).toEqual(['gone']);
    expect(await take('label')).toEqual([one, 'gone']);
    await world.step(5_000);
    expect(await take('destroy')).toEqual([one, 'gone']);
    expect(await world.redis.exists('corral:{test}:sandbox:gone')).toBe(0);
  });
});
