import { describe, expect, test } from 'vitest';
import { createFakeRandom } from '#test/fakes/random.ts';
import { createFakeClock } from '#test/fakes/clock.ts';
import { openPolicy } from '../environments/policy.ts';
import { offered } from '#test/fakes/offered.ts';
import { fakeEnvironment, fakeOpenTemplate } from '#test/fakes/environment.ts';
import { createFakePoolStore } from '#test/fakes/pool-store.ts';
import type { Environment } from '../model/environment.ts';
import { runId, tenantId } from '../model/ids.ts';
import { productionTimings } from '../model/timings.ts';
import { PinnedEnvironments } from './pinned-environments.ts';
import { prewarm, type Prewarm } from './prewarm.ts';

const policy = { ...openPolicy, machine: { memoryBytes: 2 ** 36, cpuMilli: 64_000 } };

const minute = 60_000;
const caller = {
  face: 'native',
  tenant: tenantId('lab'),
  run: runId('run-1'),
  keyId: 'trainer',
} as const;

function world(given: Partial<Environment> = {}) {
  const pool = createFakePoolStore();
  const clock = createFakeClock();
  const environment = { ...fakeEnvironment(), pool: { minReady: 1, max: 50, maxAgeMs: minute }, ...given };
  const pins = { pinVersion: async () => environment.version };
  const published = { load: async () => null, beginning: async () => [] };
  const environments = new PinnedEnvironments(offered([environment], policy), pins, published);
  const ask = (
    rollouts: Prewarm['rollouts'],
    neededAtMs: number | null,
    name: string = environment.name,
    requirements: Prewarm['requirements'] = null,
  ) =>
    prewarm({ environments, pool, clock, random: createFakeRandom(), timings: productionTimings }, caller, {
      environment: { name, version: null },
      rollouts,
      neededAtMs,
      requirements,
    });
  return { pool, clock, ask };
}

test('a burst of now is kept ready for ten minutes', async () => {
  const { pool, ask } = world();
  expect(await ask(20, null)).toMatchObject({ count: 20 });
  expect(pool.announcements).toMatchObject([{ run: 'run-1', count: 20, lifeMs: 10 * minute }]);
});

test('a burst that requires more than its environment has is kept ready in sandboxes of that size', async () => {
  const ceilings = { operator: { memoryBytes: 2 ** 30 }, machine: {} };
  const { pool, ask } = world({ ceilings });
  const requirements = { sandbox: null, amounts: { memoryBytes: 2 ** 30 } };
  const byNumber = await ask(4, null, undefined, requirements);
  const byRow = await ask([{ item: { id: 'one' }, count: 3 }], null, undefined, requirements);
  const announced = { chosen: { amounts: requirements.amounts } };
  expect(pool.announcements).toMatchObject([
    { ...announced, count: 4 },
    { ...announced, count: 3 },
  ]);
  expect(byRow.templates).toEqual(byNumber.templates);
  expect(byRow.templates).not.toEqual((await ask(1, null)).templates);
});

test('a burst whose rollouts would be refused is refused by the same name', async () => {
  const { pool, ask } = world();
  const above = { sandbox: null, amounts: { memoryBytes: 2 ** 40 } };
  await expect(ask(4, null, undefined, above)).rejects.toMatchObject({ code: 'requirements_unmet' });
  const services = { sandbox: null, services: 2 };
  await expect(ask(4, null, undefined, services)).rejects.toMatchObject({ code: 'requirements_unmet' });
  expect(pool.announcements).toEqual([]);
});

test('one that comes later is kept ready for ten minutes after its time', async () => {
  const { pool, clock, ask } = world();
  await ask(20, clock.nowMs() + 5 * minute);
  expect(pool.announcements).toMatchObject([{ lifeMs: 15 * minute }]);
});

test('a time that has passed counts as now', async () => {
  const { pool, clock, ask } = world();
  await ask(20, clock.nowMs() - 5 * minute);
  expect(pool.announcements).toMatchObject([{ lifeMs: 10 * minute }]);
});

test('more than the pool may hold is cut to what it may hold', async () => {
  const { ask } = world();
  expect(await ask(500, null)).toMatchObject({ count: 50 });
});

test('rows that demand more are announced as templates of their own, and a number alone says nothing of rows', async () => {
  const { pool, ask } = world({ demands: { memoryBytes: 'memory' } });
  const rows = ['2Gi', '2048Mi', null].map((memory) => ({ item: { id: 'task', memory }, count: 2 }));
  const { templates, count } = await ask(rows, null);
  expect([templates.length, count]).toEqual([2, 6]);
  expect(pool.announcements).toMatchObject([
    { count: 4, chosen: { amounts: { memoryBytes: 2 ** 31 } } },
    { count: 2 },
  ]);
  await expect(ask(20, null)).rejects.toMatchObject({ code: 'item_missing', evidence: { field: 'memory' } });
});

test('a time more than an hour ahead is the caller’s mistake and announces nothing', async () => {
  const { pool, clock, ask } = world();
  const refused = expect.objectContaining({ code: 'invalid_request' });
  await expect(ask(20, clock.nowMs() + 61 * minute)).rejects.toEqual(refused);
  expect(pool.announcements).toEqual([]);
});

test('an environment that does not exist is named', async () => {
  await expect(world().ask(1, null, 'nothing')).rejects.toMatchObject({ code: 'unknown_environment' });
});

const row = (image: string, count: number) => ({ item: { image }, count });
const chosenOf = (reference: string) => ({ version: 'version-1', image: { kind: 'image', reference } });

describe('rows that name their images', () => {
  const open = { template: fakeOpenTemplate(['tasks/*']) };

  test('are announced image by image, with what controllers need to make the template', async () => {
    const { pool, ask } = world(open);
    const rows = [row('tasks/a:1', 4), row('tasks/b:1', 2), row('tasks/a:1', 3)];
    const announced = await ask(rows, null);
    expect(announced.count).toBe(9);
    expect(new Set(announced.templates).size).toBe(2);
    expect(pool.announcements).toMatchObject([
      { count: 7, chosen: chosenOf('tasks/a:1') },
      { count: 2, chosen: chosenOf('tasks/b:1') },
    ]);
  });

  test('are cut at what the pool may hold in all', async () => {
    const { pool, ask } = world(open);
    const rows = [row('tasks/a:1', 40), row('tasks/b:1', 40), row('tasks/c:1', 40)];
    expect(await ask(rows, null)).toMatchObject({ count: 50 });
    expect(pool.announcements).toMatchObject([{ count: 40 }, { count: 10 }]);
  });

  test('cannot be announced by their number alone', async () => {
    const refused = { code: 'item_missing', message: expect.stringContaining('announce with `items`') };
    await expect(world(open).ask(9, null)).rejects.toMatchObject(refused);
  });

  test('announce nothing when one of them may not be', async () => {
    const { pool, ask } = world(open);
    const asked = ask([row('tasks/a:1', 1), row('other/b:1', 1)], null);
    await expect(asked).rejects.toMatchObject({ code: 'invalid_request' });
    expect(pool.announcements).toEqual([]);
  });
});
