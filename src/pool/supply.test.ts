import { expect, test } from 'vitest';
import { fakeEnvironment } from '../../test/fakes/environment.ts';
import { createFakeLaunchQueue } from '../../test/fakes/launch-queue.ts';
import { createFakeMetrics } from '../../test/fakes/metrics.ts';
import { createFakePoolStore } from '../../test/fakes/pool-store.ts';
import type { TemplateCounts } from '../ports/fleet/pool.ts';
import { templateDigest } from '../model/ids.ts';
import { planPools } from './plans.ts';
import { supplyTickets } from './supply.ts';

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
  return {
    queue,
    metrics,
    supply: () => supplyTickets({ pool, queue, metrics, plans: () => plans, startBudget: 4 }),
  };
}

test('waiting rollouts get tickets up to the start budget', async () => {
  const { queue, supply } = world({ ready: 0, waiting: 7 });
  await supply();
  expect(queue.offers).toEqual([4]);
});

test('a pool that is full offers none, and is counted nevertheless', async () => {
  const { queue, metrics, supply } = world({});
  await supply();
  expect(queue.offers).toEqual([]);
  expect(metrics.recorded.map((one) => one.name)).toEqual(['poolCounted', 'startsCounted']);
});
