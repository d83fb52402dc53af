import { describe, expect, test } from 'vitest';
import { environmentVersion, sandboxId, templateDigest } from '#src/model/ids.ts';
import type { ProcessWord } from '#src/ports/fleet/watch.ts';
import { claimOf, keyOf, minute, ownerOf, second, worldOfTests, template } from './world.ts';
import { reserveOne } from '#test/support/reserve-one.ts';

const world = worldOfTests();

const wait = (name: string, run = 'run-1', of = template) =>
  world.fleet.claims.claim(claimOf(name, { owner: ownerOf(name, run), template: of }));
const read = (...known: string[]) => world.fleet.watch.read(known.map(templateDigest));
const templateIn = async (name: string, ...known: string[]) =>
  (await read(...known)).templates.find((one) => one.template === name);

describe('the line', () => {
  test('runs are told by who waits longest, with how many stand before their first and for how long it waits', async () => {
    for (const name of ['a1', 'a2', 'a3']) await wait(name, 'large');
    await world.step(4 * second);
    await wait('b1', 'small');
    await world.step(second);
    const { line, rollouts, runsLeftOut } = await read();
    expect(line).toEqual([
      { template, waiting: 3, ahead: 0, first: keyOf('a1', 'large'), firstWaitsMs: 5 * second },
      { template, waiting: 1, ahead: 1, first: keyOf('b1', 'small'), firstWaitsMs: second },
    ]);
    expect([rollouts.inLine, rollouts.open, runsLeftOut]).toEqual([4, 4, 0]);
  });

  test('a place is the one that a caller is told, also where a run before it has gone', async () => {
    await wait('a1', 'first');
    await wait('b1', 'second');
    await wait('c1', 'third');
    await world.fleet.lifecycle.close(keyOf('b1', 'second'), 'deleted');
    const told = await wait('c1', 'third');
    const { line } = await read();
    expect(line.find(({ first }) => first === keyOf('c1', 'third'))?.ahead).toBe(1);
    expect(told).toMatchObject({ kind: 'waiting', ahead: 1 });
  });

  test('who gave a sandbox up for another has waited since its first place, and stands before all', async () => {
    await wait('a1', 'large');
    await world.supply(1);
    await world.step(30 * second);
    await wait('b1', 'small');
    const held = await world.fleet.claims.claim(claimOf('a1', { owner: ownerOf('a1', 'large') }));
    if (held.kind !== 'held') throw new Error('not held');
    await world.fleet.claims.swap(held.rollout.key, held.rollout.generation, 'bind refused', {});
    await wait('a1', 'large');
    expect((await read()).line.map(({ first, firstWaitsMs }) => [first, firstWaitsMs])).toEqual([
      [keyOf('a1', 'large'), 30 * second],
      [keyOf('b1', 'small'), 0],
    ]);
  });

  test('of more runs than it looks at 300 are told, and the others are counted', async () => {
    // A hundred at a time: a busy machine answers many at once too late.
    for (let first = 0; first < 600; first += 100)
      await Promise.all(Array.from({ length: 100 }, (_, n) => wait(`r${first + n}`, `run-${first + n}`)));
    const { line, runsLeftOut, rollouts, costMs } = await read();
    expect([line.length, runsLeftOut, rollouts.inLine]).toEqual([300, 300, 600]);
    expect(costMs).toBeGreaterThan(0);
  });
});

describe('templates', () => {
  test('sandboxes are counted by what they do', async () => {
    await world.supply(2);
    await world.running('a');
    await reserveOne(world.fleet.pool, sandboxId('coming'), [{ template, minReady: 9, max: 9 }], 9, minute);
    expect(await templateIn('T')).toMatchObject({
      ready: 1,
      held: 1,
      starting: 1,
      waiting: 0,
      breaker: 'closed',
    });
    const { sandboxes, rollouts } = await read();
    expect(sandboxes).toEqual({ all: 3, starting: 1, leaving: 0 });
    expect(rollouts.callsRunning).toBe(1);
  });

  test('the environment of one that the asker does not know is that of who waits for it or holds one', async () => {
    expect(await templateIn('T')).toBeUndefined();
    await wait('a');
    expect(await templateIn('T')).toMatchObject({ environment: 'code' });
    expect(await templateIn('T', 'T')).toMatchObject({ environment: null });
    await world.supply(1);
    expect(await templateIn('T')).toMatchObject({ held: 1, environment: 'code' });
  });

  test('one that a row made is told with the version whose row it was', async () => {
    const version = environmentVersion('v1');
    const image = { kind: 'image', reference: 'corral.local/task:1' } as const;
    await world.fleet.environments.choose(templateDigest('of-row'), { version, image });
    expect(await templateIn('of-row', 'T')).toBeUndefined();
    await wait('a', 'run-1', templateDigest('of-row'));
    expect(await templateIn('of-row')).toMatchObject({ chosenFor: 'v1' });
  });

  test('a start that failed is told with its code and age, and never in the words of who failed', async () => {
    await reserveOne(world.fleet.pool, sandboxId('s1'), [{ template, minReady: 1, max: 1 }], 9, minute);
    await world.fleet.pool.launchFailed(sandboxId('s1'), 'image_unavailable', '\u001b[2Jevil', null);
    await world.step(12 * second);
    const reading = await read('T');
    expect(reading.templates).toMatchObject([
      { template: 'T', lastFailure: { code: 'image_unavailable', agoMs: 12 * second } },
    ]);
    expect(JSON.stringify(reading)).not.toContain('evil');
  });

  test('of more than 300 those are told that somebody waits for, and the others are counted', async () => {
    const known = Array.from({ length: 300 }, (_, index) => `known-${index}`);
    await wait('a', 'run-1', templateDigest('wanted'));
    const { templates, templatesLeftOut } = await read(...known);
    expect([templates.length, templates[0]?.template, templatesLeftOut]).toEqual([300, 'wanted', 1]);
  });
});

describe('processes', () => {
  const word: ProcessWord = {
    kind: 'controller',
    host: 'node-1',
    pid: 7,
    version: '0.1.0',
    ageMs: 60_000,
    state: 'serving',
    inHand: { starts: 3 },
    atMost: { starts: 32 },
    verdicts: { scorable: 5, sandbox_lost: 1 },
  };

  test('one is told as it spoke last, with how long it has been silent, and is forgotten after five minutes', async () => {
    await world.fleet.watch.tell('p1', word);
    await world.step(12 * second);
    await world.fleet.watch.tell('p2', { ...word, kind: 'gateway' });
    const { processes } = await read();
    expect(processes).toEqual([
      { ...word, silentMs: 12 * second },
      { ...word, kind: 'gateway', silentMs: 0 },
    ]);
    await world.step(5 * minute);
    await world.fleet.watch.tell('p3', word);
    expect((await read()).processes.map(({ silentMs }) => silentMs)).toEqual([5 * minute, 0]);
    await world.step(1);
    await world.fleet.watch.tell('p3', word);
    expect((await read()).processes).toHaveLength(1);
  });

  test('starts that fail again and again are no more than 200 processes', async () => {
    for (let start = 0; start < 220; start += 1) await world.fleet.watch.tell(`p${start}`, word);
    expect((await read()).processes).toHaveLength(200);
  });
});

test('watching changes nothing, and works also when Redis is full', async () => {
  await wait('a');
  await world.redis.config('SET', 'maxmemory', '1');
  try {
    await expect(world.fleet.watch.tell('p', {} as ProcessWord)).rejects.toThrow();
    expect((await read()).line).toHaveLength(1);
  } finally {
    await world.redis.config('SET', 'maxmemory', '0');
  }
});
