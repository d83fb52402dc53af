import { expect, test } from 'vitest';
import { fakeEnvironment, fakeTemplate, roomyPool } from '#test/fakes/environment.ts';
import { createFakeLaunchQueue } from '#test/fakes/launch-queue.ts';
import { createFakeMetrics } from '#test/fakes/metrics.ts';
import { createFakePoolStore } from '#test/fakes/pool-store.ts';
import type { TemplateCounts } from '../ports/fleet/pool.ts';
import { environmentName, templateDigest, environmentVersion } from '../model/ids.ts';
import { planPools } from './plans.ts';
import { countPools, createSupply, wantedLaunches, wantedTickets, pullable, type Wanted } from './supply.ts';

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
  const readings = { ofChosen: 0 };
  const readChosen = async () => void (readings.ofChosen += 1);
  const tools = { pool, queue, metrics, plans: () => plans, readChosen, startBudget: 4 };
  return { pool, queue, metrics, readings, supply: createSupply(tools), count: () => countPools(tools) };
}

test('templates that rows and demands make are read only if one is wanted that the plans do not have', async () => {
  const { pool, readings, supply } = world({});
  await supply();
  expect(readings.ofChosen).toBe(0);
  pool.demand = async () => ({ starting: 0, templates: new Set([templateDigest('raised')]) });
  await supply();
  expect(readings.ofChosen).toBe(1);
});

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

const template = templateDigest('template-a');
const countsOf = (given: Partial<TemplateCounts> = {}): TemplateCounts => ({
  template,
  ready: 0,
  launching: 0,
  held: 0,
  waiting: 0,
  oldestWaitMs: 0,
  announced: 0,
  breaker: 'closed',
  lastFailure: null,
  ...given,
});

test.each([
  { why: 'an empty pool is filled', seen: {}, minReady: 4, max: 10, wanted: 4 },
  { why: 'a full pool wants nothing', seen: { ready: 4 }, minReady: 4, max: 10, wanted: 0 },
  { why: 'starts under way count as there', seen: { launching: 3 }, minReady: 4, max: 10, wanted: 1 },
  { why: 'who waits gets one beside the refill', seen: { waiting: 2 }, minReady: 4, max: 10, wanted: 6 },
  {
    why: 'an announced burst is made ready',
    seen: { ready: 4, announced: 8 },
    minReady: 4,
    max: 10,
    wanted: 4,
  },
  {
    why: 'a small burst is inside the minimum',
    seen: { ready: 4, announced: 3 },
    minReady: 4,
    max: 10,
    wanted: 0,
  },
  { why: 'an announced burst stops at the bound', seen: { announced: 99 }, minReady: 4, max: 10, wanted: 10 },
  { why: 'held ones are replaced', seen: { held: 4 }, minReady: 4, max: 10, wanted: 4 },
  { why: 'held ones count towards the bound', seen: { held: 8 }, minReady: 4, max: 10, wanted: 2 },
  { why: 'a burst stops at the bound', seen: { waiting: 500 }, minReady: 0, max: 10, wanted: 10 },
  {
    why: 'over the bound nothing is wanted',
    seen: { held: 12, waiting: 3 },
    minReady: 4,
    max: 10,
    wanted: 0,
  },
  {
    why: 'an open breaker gets one try',
    seen: { waiting: 9, breaker: 'open' },
    minReady: 0,
    max: 10,
    wanted: 1,
  },
  {
    why: 'a try that is out is awaited',
    seen: { waiting: 9, breaker: 'probing' },
    minReady: 0,
    max: 10,
    wanted: 0,
  },
  {
    why: 'an open breaker without need gets none',
    seen: { breaker: 'open' },
    minReady: 0,
    max: 10,
    wanted: 0,
  },
] as const)('$why', ({ seen, minReady, max, wanted }) => {
  expect(wantedLaunches(countsOf(seen), { template, minReady, max })).toBe(wanted);
});

test('tickets are the launches that are out and those wanted, over all templates, within the start budget', () => {
  const other = templateDigest('template-b');
  const seen = [countsOf({ launching: 2 }), countsOf({ template: other, waiting: 3 })];
  const targets = [
    { template, minReady: 3, max: 10 },
    { template: other, minReady: 0, max: 10 },
  ];
  expect(wantedTickets(seen, targets, 2, 100)).toBe(2 + 1 + 3);
  expect(wantedTickets(seen, targets, 2, 4)).toBe(4);
});

test('a template that nobody here can create wants no ticket', () => {
  expect(wantedTickets([countsOf({ waiting: 5 })], [], 0, 100)).toBe(0);
});

const budget = 16;

/** A template of a row that wants so many launches. */
function row(launches: number, seen: Partial<TemplateCounts> = {}, max = 100): Wanted {
  const template = templateDigest('of-a-row');
  const none = { ready: 0, launching: 0, held: 0, waiting: launches, oldestWaitMs: 0, announced: 0 };
  return {
    counts: { template, ...none, breaker: 'closed', lastFailure: null, ...seen },
    target: { template, minReady: 0, max, chosenFor: environmentVersion('version-1') },
    launches,
  };
}

function own(launches: number): Wanted {
  const { counts, target } = row(launches);
  return { counts, target: { template: target.template, minReady: 0, max: target.max }, launches };
}

const held = { held: 1 };
const noRoom = { lastFailure: { code: 'unschedulable', message: 'no room', atMs: 0 } } as const;

function graders(launches: number): Wanted {
  const one = row(launches);
  return { ...one, target: { ...one.target, role: 'grader' } };
}

test.each<[string, readonly Wanted[], number]>([
  ['an environment’s own image wants what it wants', [own(16)], 16],
  ['an image of a row gets a quarter of the slots at first', [row(9)], 4],
  ['what it has under way counts', [row(9, { launching: 3 })], 1],
  ['it gets half once one of its sandboxes stands', [row(16, held)], 8],
  ['those of which none stands get half together', [row(4), row(4), row(4)], 8],
  ['their starts under way count together', [row(4, { launching: 4 }), row(4, { launching: 4 })], 0],
  [
    'one that stands is not held up by those of which none does',
    [row(4, { launching: 4 }), row(4, { launching: 4 }), row(4, held)],
    4,
  ],
  [
    'the maximum of their environment holds for all together',
    [row(4, { held: 5 }, 10), row(4, { held: 3 }, 10)],
    2,
  ],
  ['an environment that is full wants none', [row(4, { held: 5 }, 10), row(4, { held: 5 }, 10)], 0],
  [
    'what is idle of one gives way to another',
    [row(2, { held: 8 }, 10), row(0, { ready: 2, waiting: 0 }, 10)],
    2,
  ],
  ['one that found no room on a machine gets one slot', [row(9, { ...held, ...noRoom })], 4],
  [
    'graders are not held up by those of which none stands',
    [row(4, { launching: 4 }), row(4, { launching: 4 }), graders(2)],
    2,
  ],
  ['other environments are not held up', [row(4, { launching: 4 }), row(4, { launching: 4 }), own(5)], 5],
])('%s', (_name, wanted, launches) => {
  expect(pullable(wanted, budget)).toBe(launches);
});

test('the least is one slot', () => {
  expect(pullable([row(3)], 1)).toBe(1);
});
