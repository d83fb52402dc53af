import { describe, expect, test } from 'vitest';
import { bootId, environmentName, environmentVersion, runId } from '#src/model/ids.ts';
import type { RolloutKey } from '#src/model/rollout.ts';
import { type WakeUp, withGrant } from '#src/ports/fleet/wake-ups.ts';
import { repeatsAreOver } from '#test/support/repeats-are-over.ts';
import {
  admitOf,
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
  tenant,
} from './world.ts';

const world = worldOfTests();

describe('a first call', () => {
  test('finds a ready sandbox and has it at once, warm', async () => {
    const [sandbox] = await world.supply(1);
    const rollout = await held(world.fleet, claimOf('a'));
    expect(rollout).toMatchObject({ state: 'claimed', launchType: 'warm', generation: 1 });
    expect(rollout.epoch).toEqual({ sandbox, boot: bootId(`boot-${sandbox}`) });
    expect(rollout.leaseUntilMs).toBe(world.nowMs() + 15 * minute);
  });

  test('is answered with the very record that is stored', async () => {
    await world.supply(1);
    const rollout = await held(world.fleet, claimOf('a'));
    expect(rollout).toEqual(await recordOf(world.fleet, rollout.key));
  });

  test('finds none and stands in line with nobody ahead', async () => {
    const reply = await world.fleet.claims.claim(claimOf('a'));
    expect(reply).toMatchObject({ kind: 'waiting', ahead: 0, rollout: { state: 'waiting', epoch: null } });
  });

  test('takes the sandbox that has been ready longest', async () => {
    const [oldest] = await world.supply(1);
    await world.step(second);
    await world.supply(1);
    expect((await held(world.fleet, claimOf('a'))).epoch?.sandbox).toBe(oldest);
  });

  test('sent fifty times at once ends with one sandbox that all of them are told', async () => {
    await world.supply(10);
    const replies = await Promise.all(
      Array.from({ length: 50 }, () => world.fleet.claims.claim(claimOf('a'))),
    );
    const sandboxes = new Set(replies.map((reply) => reply.rollout?.epoch?.sandbox));
    expect(sandboxes.size).toBe(1);
    const [counts] = await world.fleet.pool.counts([claimOf('a').template]);
    expect(counts).toMatchObject({ ready: 9, held: 1 });
  });

  test('keeps the item that came first, also when a later call brings none or another', async () => {
    await world.fleet.claims.claim(claimOf('a', { item: null }));
    await world.fleet.claims.claim(claimOf('a', { item: '{"n":1}' }));
    await world.fleet.claims.claim(claimOf('a', { item: null }));
    await world.fleet.claims.claim(claimOf('a', { item: '{"n":2}' }));
    expect(await world.fleet.claims.row(keyOf('a'))).toBe('{"n":1}');
  });
});

async function refused(name: string, overrides = {}) {
  const reply = await world.fleet.claims.claim(claimOf(name, overrides));
  return reply.kind === 'refused' ? reply.code : reply.kind;
}

test('claims of one moment are answered each for itself, and one sandbox goes to one of them', async () => {
  await world.supply(70);
  const { claims } = world.fleet;
  const names = Array.from({ length: 100 }, (_, index) => `r${index}`);
  const replies = await Promise.all(names.map((name) => claims.claim(claimOf(name))));
  expect(replies.map((reply) => reply.rollout?.owner.rollout)).toEqual(names);
  expect(replies.map(({ kind }) => kind)).toEqual(names.map((_, index) => (index < 70 ? 'held' : 'waiting')));
  expect(new Set(replies.map((reply) => reply.rollout?.epoch?.sandbox ?? null)).size).toBe(71);
});

test('claims of one moment may say different things, or come twice; each gets what it asked for', async () => {
  await world.supply(2);
  const { claims } = world.fleet;
  const asked = [
    claimOf('a', { item: '{"n":1}' }),
    claimOf('b', { item: '{"n":2}', idleMs: 5 * minute }),
    claimOf('a', { item: '{"n":1}' }),
    claimOf('a', { environment: environmentName('other') }),
    claimOf('c', { recordOnly: true, item: null }),
  ];
  const [a, b, again, elsewhere, c] = await Promise.all(asked.map((request) => claims.claim(request)));
  expect(a).toMatchObject({ kind: 'held', rollout: { hadRow: true } });
  expect(again?.rollout?.epoch).toEqual(a?.rollout?.epoch);
  expect(elsewhere).toMatchObject({ kind: 'refused', code: 'environment_mismatch' });
  expect(c).toMatchObject({ kind: 'waiting', rollout: { epoch: null } });
  const lease = (reply: typeof a) => (reply?.rollout?.leaseUntilMs ?? 0) - (reply?.rollout?.placedAtMs ?? 0);
  expect([lease(a), lease(b)]).toEqual([claimOf('a').idleMs, 5 * minute]);
  expect(await Promise.all(['a', 'b', 'c'].map((name) => claims.row(keyOf(name))))).toEqual([
    '{"n":1}',
    '{"n":2}',
    null,
  ]);
});

test('a claim of a discarded rollout is answered together with other claims', async () => {
  await world.supply(1);
  await world.active('a');
  await world.fleet.lifecycle.void(keyOf('a'), 'its task is broken');
  const [a, b] = await Promise.all(['a', 'b'].map((name) => world.fleet.claims.claim(claimOf(name))));
  expect(a).toMatchObject({ kind: 'refused', code: 'voided' });
  expect(b).toMatchObject({ kind: 'waiting' });
});

test('two attempts in one moment end with the lower one closed and one wave', async () => {
  await world.supply(2);
  const claims = [1, 2].map((attempt) => claimOf('a', { owner: ownerOf('a', 'run-1', attempt) }));
  const [lower, higher] = await Promise.all(claims.map((request) => world.fleet.claims.claim(request)));
  expect(higher).toMatchObject({ kind: 'held', rollout: { wave: 1 } });
  expect(await recordOf(world.fleet, keyOf('a'))).toMatchObject({ state: 'closed', inFlight: 0 });
  expect(await drainingOf(world.fleet)).toEqual([lower?.rollout?.epoch?.sandbox]);
  await world.step(120 * minute);
  expect(await world.fleet.lifecycle.expireDue(10)).toHaveLength(1);
});

describe('a claim is refused', () => {
  test('with environment_mismatch when the rollout was opened with another environment', async () => {
    await world.fleet.claims.claim(claimOf('a'));
    expect(await refused('a', { environment: environmentName('other') })).toBe('environment_mismatch');
  });

  test('with item_mismatch when the rollout was opened with another row, also when it is over', async () => {
    await world.supply(1);
    await world.active('a', { itemDigest: '1:aa:1' });
    expect(await refused('a', { itemDigest: '1:bb:1' })).toBe('item_mismatch');
    expect(await world.fleet.claims.claim(claimOf('a', { itemDigest: '1:aa:1' }))).toMatchObject({
      kind: 'held',
    });
    expect(await refused('a', { itemDigest: '1:aa:2' })).toBe('item_mismatch');
    for (const itemDigest of ['1:aa:', '2:bb:1', null])
      expect(await world.fleet.claims.claim(claimOf('a', { itemDigest }))).toMatchObject({ kind: 'held' });
    await world.fleet.lifecycle.close(keyOf('a'), 'finished');
    await repeatsAreOver(world.redis);
    expect(await refused('a', { itemDigest: '1:bb:1' })).toBe('item_mismatch');
    expect(await refused('a', { itemDigest: '1:aa:1' })).toBe('rollout_closed');
  });

  test('with item_mismatch after a later call brought its row', async () => {
    await world.fleet.claims.claim(claimOf('a', { item: null }));
    await world.fleet.claims.claim(claimOf('a', { item: '{"n":1}', itemDigest: '1:aa:1' }));
    expect(await refused('a', { item: '{"n":2}', itemDigest: '1:bb:1' })).toBe('item_mismatch');
  });

  test('with rollout_closed after it was finished', async () => {
    await world.supply(1);
    await world.active('a');
    await world.fleet.lifecycle.close(keyOf('a'), 'finished');
    expect(await refused('a')).toBe('rollout_closed');
  });

  test('with rollout_expired after nobody called it for its idle time', async () => {
    await world.fleet.claims.claim(claimOf('a'));
    await world.step(15 * minute);
    await world.fleet.lifecycle.expireDue(10);
    expect(await refused('a')).toBe('rollout_expired');
  });

  test('with the code of the taint, also when the rollout is closed by then', async () => {
    await world.supply(1);
    const rollout = await world.active('a');
    await world.fleet.lifecycle.lose(sandboxOf(rollout), null, 'evicted', {});
    expect(await refused('a')).toBe('sandbox_lost');
    await world.fleet.lifecycle.close(keyOf('a'), 'finished');
    expect(await refused('a')).toBe('sandbox_lost');
  });

  test('with run_closed in a closed run, and leaves no record', async () => {
    await world.fleet.claims.claim(claimOf('a'));
    await world.fleet.lifecycle.closeRun(tenant, runId('run-1'), 10);
    expect(await refused('b')).toBe('run_closed');
    expect(await refused('a')).toBe('run_closed');
    expect(await world.fleet.claims.find(ownerOf('b'), 1)).toBeNull();
  });
});

describe('attempts', () => {
  test('a higher one closes the lower one and gets another sandbox', async () => {
    await world.supply(2);
    const first = await world.active('a');
    const second = await held(world.fleet, claimOf('a', { owner: ownerOf('a', 'run-1', 2) }));
    expect(second.epoch?.sandbox).not.toBe(first.epoch?.sandbox);
    expect(await recordOf(world.fleet, first.key)).toMatchObject({ state: 'closed', closedBy: 'superseded' });
    expect(await drainingOf(world.fleet)).toEqual([first.epoch?.sandbox]);
  });

  test('a lower one that comes late is rollout_closed, opened before or not', async () => {
    await world.fleet.claims.claim(claimOf('a', { owner: ownerOf('a', 'run-1', 3) }));
    const late = await world.fleet.claims.claim(claimOf('a', { owner: ownerOf('a', 'run-1', 2) }));
    expect(late).toMatchObject({ kind: 'refused', code: 'rollout_closed', rollout: null });
  });

  test('the newest one is found when none is named', async () => {
    await world.fleet.claims.claim(claimOf('a'));
    await world.fleet.claims.claim(claimOf('a', { owner: ownerOf('a', 'run-1', 2) }));
    expect((await world.fleet.claims.find(ownerOf('a'), null))?.owner.attempt).toBe(2);
    expect((await world.fleet.claims.find(ownerOf('a'), 1))?.owner.attempt).toBe(1);
    expect(await world.fleet.claims.find(ownerOf('nobody'), null)).toBeNull();
  });
});

describe('a sandbox that will not take its rollout', () => {
  test('is swapped: destroyed, and the rollout has the next ready one', async () => {
    const [bad] = await world.supply(1);
    const rollout = await held(world.fleet, claimOf('a'));
    const [good] = await world.supply(1);
    const reply = await world.fleet.claims.swap(rollout.key, rollout.generation, 'bind timed out', {});
    expect(reply).toMatchObject({ kind: 'held', rollout: { epoch: { sandbox: good }, state: 'claimed' } });
    expect(await drainingOf(world.fleet)).toEqual([bad]);
  });

  test('puts its rollout at the head of the line when none is ready', async () => {
    await world.supply(1);
    const rollout = await held(world.fleet, claimOf('a'));
    await world.fleet.claims.claim(claimOf('b'));
    const reply = await world.fleet.claims.swap(rollout.key, rollout.generation, 'bind timed out', {});
    expect(reply).toMatchObject({ kind: 'waiting', ahead: 0 });
    await world.supply(1);
    expect((await recordOf(world.fleet, rollout.key)).state).toBe('claimed');
  });

  test('is swapped once when two gateways ask; the loser follows', async () => {
    await world.supply(3);
    const rollout = await held(world.fleet, claimOf('a'));
    const [one, other] = await Promise.all([
      world.fleet.claims.swap(rollout.key, rollout.generation, 'bind timed out', {}),
      world.fleet.claims.swap(rollout.key, rollout.generation, 'bind timed out', {}),
    ]);
    expect(one.rollout?.epoch).toEqual(other.rollout?.epoch);
    expect(await drainingOf(world.fleet)).toHaveLength(1);
  });

  test('is not swapped any more once a call was dispatched', async () => {
    await world.supply(2);
    const rollout = await world.running('a');
    const reply = await world.fleet.claims.swap(rollout.key, rollout.generation, 'late', {});
    expect(reply).toMatchObject({ kind: 'held', rollout: { state: 'active', epoch: rollout.epoch } });
  });
});

describe('a grant', () => {
  test('that nobody dispatched on in 30 s is taken back; the rollout keeps its place', async () => {
    const [sandbox] = await world.supply(1);
    const rollout = await held(world.fleet, claimOf('a'));
    await world.step(20 * second);
    await world.fleet.claims.claim(claimOf('b'));
    await world.step(10 * second + 1);
    expect(await world.fleet.lifecycle.takeBackGrants(30 * second)).toBe(1);
    expect(await drainingOf(world.fleet)).toEqual([sandbox]);
    const again = await world.fleet.claims.claim(claimOf('a'));
    expect(again).toMatchObject({
      kind: 'waiting',
      ahead: 0,
      rollout: { placedAtMs: rollout.placedAtMs },
    });
  });

  test('taken back from a gateway that died is not given to the same rollout again until somebody asks', async () => {
    await world.supply(1);
    await held(world.fleet, claimOf('a'));
    await world.step(31 * second);
    await world.fleet.lifecycle.takeBackGrants(30 * second);
    await world.supply(1);
    expect((await recordOf(world.fleet, keyOf('a'))).state).toBe('waiting');
    expect((await world.fleet.claims.claim(claimOf('a'))).kind).toBe('held');
  });

  test('whose setup takes long is kept while a gateway renews it', async () => {
    await world.supply(1);
    const rollout = await held(world.fleet, claimOf('a'));
    await world.step(25 * second);
    await world.fleet.claims.renew([rollout.key]);
    await world.step(25 * second);
    expect(await world.fleet.lifecycle.takeBackGrants(30 * second)).toBe(0);
  });

  test('that was dispatched on stays', async () => {
    await world.supply(1);
    const rollout = await held(world.fleet, claimOf('a'));
    await world.fleet.calls.admit(admitOf(rollout, 'call-1'));
    await world.step(60 * second);
    expect(await world.fleet.lifecycle.takeBackGrants(30 * second)).toBe(0);
  });
});

test('the first asker of a run pins its environment version; another run is free', async () => {
  const { claims } = world.fleet;
  const code = environmentName('code');
  const pin = (run: string, version: string) =>
    claims.pinVersion(tenant, runId(run), code, environmentVersion(version));
  expect(await pin('run-1', 'v1')).toBe('v1');
  expect(await pin('run-1', 'v2')).toBe('v1');
  expect(await pin('run-2', 'v2')).toBe('v2');
});

/** The first so many wake-ups. */
const wakeUps = (count: number) =>
  new Promise<readonly (readonly [RolloutKey, WakeUp])[]>((resolve) => {
    const heard: (readonly [RolloutKey, WakeUp])[] = [];
    world.fleet.claims.onWake((...wakeUp) => heard.push(wakeUp) === count && resolve(heard));
  });

test('the wake-up of a waiting rollout brings its grant, which equals what a claim returns', async () => {
  const woken = wakeUps(1);
  const waiting = await world.fleet.claims.claim(claimOf('a'));
  await world.supply(1);
  const [[key, wakeUp] = []] = await woken;
  const claimed = await held(world.fleet, claimOf('a'));
  expect(key).toBe(keyOf('a'));
  if (wakeUp?.kind !== 'granted' || waiting.kind !== 'waiting') return expect.unreachable('no grant');
  expect(withGrant(waiting.rollout, wakeUp.grant)).toEqual(claimed);
});

test('a wake-up says that a sandbox was given up and another one granted, and that a rollout ended', async () => {
  await world.supply(1);
  const claimed = await held(world.fleet, claimOf('a'));
  const woken = wakeUps(3);
  await world.fleet.claims.swap(claimed.key, claimed.generation, 'refused', {});
  await world.supply(1);
  await world.fleet.lifecycle.void(claimed.key, 'a broken item');
  const kinds = (await woken).map(([, { kind }]) => kind);
  expect(kinds).toEqual(['released', 'granted', 'ended']);
});

test.each([1, 0])('the tags of the first claim are kept, with %i sandboxes ready', async (ready) => {
  await world.supply(ready);
  const tags = { step: 7, labels: ['hard', 'ü'] };
  expect(await world.fleet.claims.claim(claimOf('a', { tags }))).toMatchObject({ rollout: { tags } });
  await world.fleet.claims.claim(claimOf('a', { tags: { step: 8, labels: [] } }));
  expect((await recordOf(world.fleet, keyOf('a'))).tags).toEqual(tags);
  const { rollouts } = await world.fleet.reports.rollouts(ownerOf('a').tenant, ownerOf('a').run, {});
  expect(rollouts.map((rollout) => rollout.tags)).toEqual([tags]);
});
