import { expect, test } from 'vitest';
import { fakeEnvironment, fakeTemplate, roomyPool } from '#test/fakes/environment.ts';
import { createFakeLaunchQueue, fakeLaunch } from '#test/fakes/launch-queue.ts';
import { createFakeMetrics } from '#test/fakes/metrics.ts';
import { createFakePoolStore } from '#test/fakes/pool-store.ts';
import type { TemplateCounts } from '../ports/fleet/pool.ts';
import { environmentName, sandboxId, templateDigest } from '../model/ids.ts';
import { planPools } from './plans.ts';
import { countPools, createSupply, giveMissingJobs } from './supply.ts';

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

function world(seen: Partial<TemplateCounts> = {}, startBudget = 4) {
  const pool = createFakePoolStore();
  const queue = createFakeLaunchQueue();
  const metrics = createFakeMetrics();
  pool.answers.counts = [{ ...counts, ...seen }];
  let plans = planPools([fakeEnvironment()], [], new Map());
  const readings = { ofChosen: 0 };
  let made = 0;
  const tools = {
    pool,
    queue,
    metrics,
    plans: () => plans,
    readChosen: async () => void (readings.ofChosen += 1),
    newSandbox: () => sandboxId(`s-${(made += 1)}`),
    startBudget,
  };
  return {
    pool,
    queue,
    metrics,
    readings,
    tools,
    replan: () => (plans = new Map(plans)),
    supply: createSupply(tools),
    count: () => countPools(tools),
  };
}
const { sandbox: _one, ...wanted } = fakeLaunch();
const wants = (count: number) => Array.from({ length: count }, () => wanted);

test('templates that rows and demands make are read only if one is wanted that the plans do not have', async () => {
  const { pool, readings, supply } = world();
  await supply();
  expect(readings.ofChosen).toBe(0);
  pool.answers.isUnplanned = true;
  await supply();
  expect(readings.ofChosen).toBe(1);
});

test('templates that were read are reserved for at once', async () => {
  const { pool, queue, tools, replan } = world();
  pool.answers.isUnplanned = true;
  const readChosen = async () => {
    pool.answers.isUnplanned = false;
    pool.answers.launches.push(wanted);
    replan();
  };
  await createSupply({ ...tools, readChosen })();
  expect(await queue.counts()).toMatchObject({ wait: 1 });
});

test('every launch that is reserved gets a job, portion by portion', async () => {
  const { pool, queue, supply } = world({}, 100);
  pool.answers.launches.push(...wants(70));
  await supply();
  expect(await queue.counts()).toMatchObject({ wait: 70 });
});

test('a pool that is full gets no job, and how many are started is counted nevertheless', async () => {
  const { queue, metrics, supply } = world();
  await supply();
  expect(await queue.counts()).toMatchObject({ wait: 0 });
  expect(metrics.recorded.map((one) => one.name)).toEqual(['startsCounted']);
});

test('a start whose job is missing gets it', async () => {
  const { pool, queue } = world();
  await giveMissingJobs({ pool, queue });
  expect(await queue.counts()).toMatchObject({ wait: 0 });
  pool.answers.starts = [fakeLaunch()];
  await giveMissingJobs({ pool, queue });
  expect(await queue.counts()).toMatchObject({ wait: 1 });
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

const environmentOf = (name: string, minReady: number) =>
  fakeEnvironment({
    name: environmentName(name),
    template: fakeTemplate({ digest: templateDigest(name) }),
    pool: { ...roomyPool, minReady },
  });

test('only pools in use or kept warm are counted; all are shown', async () => {
  const { pool, metrics } = world({});
  const environments = ['warm', 'used', 'idle'].map((name) => environmentOf(name, name === 'warm' ? 1 : 0));
  const plans = planPools(environments, [], new Map());
  const [warm, used, idle] = [...plans.keys()];
  const counted: unknown[] = [];
  pool.knownTemplates = async () => [templateDigest('used')];
  pool.counts = async (templates) => {
    counted.push([...templates]);
    return templates.map((template) => ({ ...counts, template }));
  };
  await countPools({ pool, metrics, plans: () => plans });
  expect(counted).toEqual([[warm, used]]);
  expect(metrics.recorded.at(-1)).toMatchObject({
    name: 'poolCounted',
    values: [[{ template: warm }, { template: used }, { template: idle, ready: 0 }]],
  });
});
