import { describe, expect, test } from 'vitest';
import { bootId, environmentVersion, runId, sandboxId, templateDigest } from '#src/model/ids.ts';
import { sandboxAddress } from '#src/model/rollout.ts';
import type { PoolTarget } from '#src/ports/fleet/pool.ts';
import type { TemplateChoice } from '#src/model/template-choice.ts';
import { claimOf, held, keyOf, minute, ownerOf, worldOfTests, tenant } from './world.ts';
import { reserveOne } from '#test/support/reserve-one.ts';

const world = worldOfTests();
let tickets = 0;

const version = environmentVersion('v1');
const own = templateDigest('own');
const budget = 8;

const chosenOf = (reference: string): TemplateChoice => ({ version, image: { kind: 'image', reference } });
const target = (template: string, max = 100): PoolTarget => ({
  template: templateDigest(template),
  minReady: 0,
  max,
  chosenFor: version,
  group: version,
});
const ownTarget: PoolTarget = { template: own, minReady: 0, max: 100 };

/** A rollout of a row that names the image `name`. */
const wait = (rollout: string, name: string) =>
  world.fleet.claims.claim(
    claimOf(rollout, {
      owner: ownerOf(rollout),
      template: templateDigest(name),
      ...(name === own ? {} : { chosen: chosenOf(name) }),
    }),
  );

function reserve(targets: readonly PoolTarget[]) {
  tickets += 1;
  return reserveOne(world.fleet.pool, sandboxId(`s${tickets}`), targets, budget, minute);
}

/** Reserves until nothing more may start; the templates in order. */
async function reserveAll(targets: readonly PoolTarget[]): Promise<readonly string[]> {
  const started: string[] = [];
  for (;;) {
    const reserved = await reserve(targets);
    if (reserved === null) return started;
    started.push(reserved.template);
  }
}

const ready = (sandbox: string) =>
  world.fleet.pool.ready(sandboxId(sandbox), bootId('b'), sandboxAddress('unix:/run/s'));
const named = async (sinceMs: number | null = null) =>
  (await world.fleet.environments.chosen(sinceMs)).templates.map(({ template }) => template);
const count = (list: readonly string[], name: string) => list.filter((one) => one === name).length;

describe('a template that a row made', () => {
  test('is told before its rollout waits, with all that makes it', async () => {
    await wait('a', 'tasks/a:1');
    const { templates } = await world.fleet.environments.chosen(null);
    expect(templates).toEqual([{ template: 'tasks/a:1', ...chosenOf('tasks/a:1') }]);
  });

  test('is told by an announcement too', async () => {
    const announcement = {
      tenant,
      run: runId('run-1'),
      count: 3,
      lifeMs: minute,
      chosen: chosenOf('tasks/a:1'),
    };
    await world.fleet.pool.announce(templateDigest('tasks/a:1'), announcement);
    expect(await named()).toEqual(['tasks/a:1']);
  });

  test('is news once, and again when it is chosen again', async () => {
    await wait('a', 'tasks/a:1');
    const { atMs } = await world.fleet.environments.chosen(null);
    await world.step(1_000);
    expect(await named(atMs + 1)).toEqual([]);
    await wait('b', 'tasks/b:1');
    expect(await named(atMs + 1)).toEqual(['tasks/b:1']);
    await wait('c', 'tasks/a:1');
    expect((await named(atMs + 1)).toSorted()).toEqual(['tasks/a:1', 'tasks/b:1']);
  });

  test('is forgotten ten minutes after, when nobody waits for it or has it: ten thousand rows leave nothing', async () => {
    await wait('held', 'kept');
    await reserveAll([target('kept')]);
    await ready(`s${tickets - 1}`);
    for (let row = 0; row < 300; row += 1) {
      await world.fleet.environments.choose(templateDigest(`tasks/${row}`), chosenOf(`tasks/${row}`));
    }
    await world.step(10 * minute + 1);
    // Each look forgets a portion, so that no look is long.
    await named();
    expect(await named()).toEqual(['kept']);
    await world.fleet.lifecycle.close(keyOf('held'), 'finished');
    await world.step(10 * minute + 1);
    expect(await named()).toEqual([]);
  });
});

describe('starts of images that rows name', () => {
  test('take a quarter of the slots for one image, and half once one of its sandboxes stands', async () => {
    for (let index = 0; index < 6; index += 1) await wait(`a${index}`, 'slow');
    expect(await reserveAll([target('slow')])).toHaveLength(budget / 4);
    await ready(`s${tickets - 1}`);
    expect(await reserveAll([target('slow')])).toHaveLength(budget / 2 - 1);
  });

  test('never take more than half while none of their sandboxes stands, so others start meanwhile', async () => {
    const rows = Array.from({ length: 10 }, (_, index) => `tasks/${index}`);
    for (const name of rows) await wait(`of ${name}`.replaceAll(' ', '-'), name);
    for (let index = 0; index < 6; index += 1) await wait(`own-${index}`, own);
    const started = await reserveAll([...rows.map((name) => target(name)), ownTarget]);
    expect(started).toHaveLength(budget);
    expect(count(started, own)).toBe(budget / 2);
    expect(new Set(started).size).toBe(budget / 2 + 1);
  });

  test('of one that stands do not count with those of which none stands', async () => {
    await wait('first', 'proven');
    await reserveAll([target('proven')]);
    await ready(`s${tickets - 1}`);
    for (let index = 0; index < 6; index += 1) await wait(`p${index}`, 'proven');
    const rows = Array.from({ length: 6 }, (_, index) => `tasks/${index}`);
    for (const name of rows) await wait(name.replace('/', '-'), name);
    const started = await reserveAll([target('proven'), ...rows.map((name) => target(name))]);
    expect(count(started, 'proven')).toBe(budget / 2);
    expect(started).toHaveLength(budget);
  });

  test('stay inside the maximum of their environment together', async () => {
    const rows = ['tasks/a', 'tasks/b', 'tasks/c'];
    for (const name of rows) await wait(name.replace('/', '-'), name);
    expect(await reserveAll(rows.map((name) => target(name, 2)))).toHaveLength(2);
  });

  test('that fail open the breaker of that image alone', async () => {
    await wait('bad', 'broken');
    for (let failures = 0; failures < 10; failures += 1) {
      const reserved = await reserve([target('broken')]);
      if (reserved === null) throw new Error('nothing was reserved');
      await world.fleet.pool.launchFailed(reserved.sandbox, 'image_unavailable', 'manifest unknown', null);
    }
    await wait('good', 'fine');
    expect(await reserveAll([target('broken'), target('fine')])).toEqual(['fine']);
    const counts = await world.fleet.pool.counts(['broken', 'fine'].map(templateDigest));
    expect(counts).toMatchObject([{ breaker: 'open' }, { breaker: 'closed' }]);
  });
});

test('a sandbox that stands is granted at once to the next rollout of the same image', async () => {
  await world.fleet.pool.announce(templateDigest('tasks/a'), {
    tenant,
    run: runId('run-1'),
    count: 1,
    lifeMs: minute,
    chosen: chosenOf('tasks/a'),
  });
  expect(await reserveAll([target('tasks/a')])).toEqual(['tasks/a']);
  await ready(`s${tickets - 1}`);
  const rollout = await held(
    world.fleet,
    claimOf('a', { template: templateDigest('tasks/a'), chosen: chosenOf('tasks/a') }),
  );
  expect(rollout).toMatchObject({ template: 'tasks/a', launchType: 'warm' });
  expect(rollout).not.toHaveProperty('chosen');
});
