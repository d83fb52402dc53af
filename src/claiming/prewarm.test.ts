import { expect, test } from 'vitest';
import { createFakeClock } from '../../test/fakes/clock.ts';
import { fakeEnvironment } from '../../test/fakes/environment.ts';
import { createFakePoolStore } from '../../test/fakes/pool-store.ts';
import { createCatalog } from '../environments/catalog.ts';
import { runId, tenantId } from '../model/ids.ts';
import { PinnedEnvironments } from './pinned-environments.ts';
import { prewarm } from './prewarm.ts';

const minute = 60_000;
const caller = { face: 'native', tenant: tenantId('lab'), run: runId('run-1') } as const;

function world() {
  const pool = createFakePoolStore();
  const clock = createFakeClock();
  const environment = fakeEnvironment({ pool: { minReady: 1, max: 50, maxAgeMs: minute } });
  const pins = { pinVersion: async () => environment.version };
  const published = { load: async () => null };
  const environments = new PinnedEnvironments(createCatalog([environment]), pins, published);
  const ask = (count: number, neededAtMs: number | null, name: string = environment.name) =>
    prewarm({ environments, pool, clock }, caller, {
      environment: { name, version: null },
      count,
      neededAtMs,
    });
  return { pool, clock, ask };
}

test('a burst of now is kept ready for ten minutes', async () => {
  const { pool, ask } = world();
  expect(await ask(20, null)).toMatchObject({ count: 20 });
  expect(pool.announcements).toMatchObject([{ run: 'run-1', count: 20, lifeMs: 10 * minute }]);
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

test('a time more than an hour ahead is the caller’s mistake and announces nothing', async () => {
  const { pool, clock, ask } = world();
  const refused = expect.objectContaining({ code: 'invalid_request' });
  await expect(ask(20, clock.nowMs() + 61 * minute)).rejects.toEqual(refused);
  expect(pool.announcements).toEqual([]);
});

test('an environment that does not exist is named', async () => {
  await expect(world().ask(1, null, 'nothing')).rejects.toMatchObject({ code: 'unknown_environment' });
});
