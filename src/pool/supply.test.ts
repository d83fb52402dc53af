import { expect, test } from 'vitest';
import { fakeEnvironment } from '#test/fakes/environment.ts';
import { createFakeLaunchQueue } from '#test/fakes/launch-queue.ts';
import { createFakeMetrics } from '#test/fakes/metrics.ts';
import { createFakePoolStore } from '#test/fakes/pool-store.ts';
import type { TemplateCounts } from '../ports/fleet/pool.ts';
import { templateDigest } from '../model/ids.ts';
import { planPools } from './plans.ts';
import { countPools, createSupply } from './supply.ts';

const counts: TemplateCounts = {
  template: templateDigest('template-a'),
  ready: 2,
  launching: 0,
  held: 0,
  waiting: 0,
  oldestWaitMs: 0,
  announced: 0,
  breaker: 'closed',
  lastFailure: null,
};

function world(seen: Partial<TemplateCounts>) {
  const pool = createFakePoolStore();
  const queue = createFakeLaunchQueue();
  const metrics = createFakeMetrics();
  pool.answers.counts = [{ ...counts, ...seen }];
  const plans = planPools([fakeEnvironment()], [], new Map());
  const tools = { pool, queue, metrics, plans: () => plans, startBudget: 4 };
  return { pool, queue, metrics, supply: createSupply(tools), count: () => countPools(tools) };
}

test('waiting rollouts get tickets up to the start budget', async () => {
  const { queue, supply } = world({ ready: 0, waiting: 7 });
  await supply();
  expect(queue.offers).toEqual([4]);
});

test('a pool that is full offers none, and how many are started is told nevertheless', async () => {
  const { queue, metrics, supply } = world({});
  await supply();
  expect(queue.offers).toEqual([]);
  expect(metrics.recorded.map((one) => one.name)).toEqual(['startsCounted']);
});

test('a template that nothing is to be started of is not counted for its tickets', async () => {
  const { pool, queue, supply } = world({ ready: 0 });
  pool.demand = async () => ({ starting: 0, templates: new Set() });
  await supply();
  expect(queue.offers).toEqual([]);
});

test('a pool that lacks something is named when the plans are new, and again whenever all pools are counted', async () => {
  const { pool, metrics, supply, count } = world({ ready: 0 });
  await supply();
  await supply();
  expect(pool.looks).toEqual([['template-a']]);
  await count();
  expect(pool.looks).toHaveLength(2);
  expect(metrics.recorded.at(-1)?.name).toBe('poolCounted');
});

test('a pool that is full is not named: nobody is to look at it', async () => {
  const { pool, supply, count } = world({});
  await supply();
  await count();
  expect(pool.looks.flat()).toEqual([]);
});
