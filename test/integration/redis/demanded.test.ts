import { describe, expect, test } from 'vitest';
import { bootId, environmentVersion, runId, sandboxId, templateDigest } from '#src/model/ids.ts';
import { sandboxAddress } from '#src/model/rollout.ts';
import type { TemplateChoice } from '#src/model/template-choice.ts';
import type { PoolTarget } from '#src/ports/fleet/pool.ts';
import { fakeEnvironment } from '#test/fakes/environment.ts';
import { claimOf, gradeAsk, keyOf, minute, ownerOf, tenant, worldOfTests } from './world.ts';
import { reserveOne } from '#test/support/reserve-one.ts';

const world = worldOfTests();
let tickets = 0;

const version = environmentVersion('v1');
const own = templateDigest('own');
const raised = templateDigest('raised');
const budget = 8;

const choice: TemplateChoice = { version, amounts: { memoryBytes: 2 ** 31 } };
const targets = (max: number, minReady = 0, weight = 1, forGraders = 0): readonly PoolTarget[] => [
  { template: own, minReady, max, group: own },
  { template: raised, minReady: 0, max, group: own, chosenFor: version, weight, forGraders },
];

const wait = (rollout: string, template = own) =>
  world.fleet.claims.claim(
    claimOf(rollout, {
      owner: ownerOf(rollout),
      template,
      ...(template === raised && { chosen: choice }),
    }),
  );

async function reserve(of: readonly PoolTarget[]) {
  tickets += 1;
  return reserveOne(world.fleet.pool, sandboxId(`s${tickets}`), of, budget, minute);
}

/** Starts sandboxes until nothing more may start; what was started, in order. */
async function start(of: readonly PoolTarget[]): Promise<readonly string[]> {
  const started: string[] = [];
  for (;;) {
    const reserved = await reserve(of);
    if (reserved === null) return started;
    started.push(reserved.template);
    await world.fleet.pool.ready(reserved.sandbox, bootId('b'), sandboxAddress('unix:/run/s'));
  }
}

/** Its sandbox ends with it. */
const end = async (rollout: string) => {
  await world.fleet.lifecycle.close(keyOf(rollout), 'deleted');
};

const fail = async () => {
  const reserved = await reserve(targets(100));
  await world.fleet.pool.launchFailed(sandboxId(reserved?.sandbox ?? ''), 'unschedulable', 'no room', null);
};

async function readyOf(template = own): Promise<number> {
  const [counts] = await world.fleet.pool.counts([template]);
  return counts?.ready ?? 0;
}

describe('a template that a demand raised', () => {
  test('is read by controllers with all that makes it, its image too', async () => {
    const both: TemplateChoice = { ...choice, image: { kind: 'host' }, role: 'grader' };
    await wait('a', raised);
    await world.fleet.environments.choose(templateDigest('both'), both);
    const { templates } = await world.fleet.environments.chosen(null);
    expect(templates).toHaveLength(2);
    expect(templates).toContainEqual({ template: raised, ...choice });
    expect(templates).toContainEqual({ template: 'both', ...both });
  });

  test('shares the maximum of the template that it was made of', async () => {
    await wait('a');
    await wait('b', raised);
    await wait('c', raised);
    expect(await start(targets(2))).toHaveLength(2);
  });

  test('takes as many start slots as other templates without a sandbox', async () => {
    for (let index = 0; index < 6; index += 1) await wait(`r${index}`, raised);
    let unproven = 0;
    while ((await reserve(targets(100))) !== null) unproven += 1;
    expect(unproven).toBe(budget / 4);
  });
});

describe('idle sandboxes of the same pool', () => {
  test('give way to one that a rollout waits for, one for each, the oldest first', async () => {
    expect(await start(targets(3, 3))).toEqual([own, own, own]);
    await wait('r', raised);
    expect(await start(targets(3, 3))).toEqual([raised]);
    expect(await readyOf()).toBe(2);
    expect(await world.fleet.pool.draining(10)).toHaveLength(1);
  });

  test('stay where the pool has room', async () => {
    await start(targets(4, 3));
    await wait('r', raised);
    expect(await start(targets(4, 3))).toEqual([raised]);
    expect(await readyOf()).toBe(3);
  });

  test('give way as many as a larger one takes the place of, and no more', async () => {
    await start(targets(4, 4));
    await wait('r', raised);
    expect(await start(targets(4, 4, 3))).toEqual([raised]);
    expect(await readyOf()).toBe(1);
    expect(await world.fleet.pool.draining(10)).toHaveLength(3);
  });

  test('all give way to one that is larger than its pool', async () => {
    await start(targets(2, 2));
    await wait('r', raised);
    expect(await start(targets(2, 2, 5))).toEqual([raised]);
    expect(await readyOf()).toBe(0);
  });

  test('stay if all of them would not be enough', async () => {
    await wait('a');
    await start(targets(3, 2));
    expect(await readyOf()).toBe(2);
    await wait('r', raised);
    expect(await start(targets(3, 2, 3))).toEqual([]);
    expect(await readyOf()).toBe(2);
  });

  test('give way although a burst was announced: its rollouts may be the ones that wait', async () => {
    await start(targets(2, 2));
    await world.fleet.pool.announce(own, { tenant, run: runId('run-1'), count: 2, lifeMs: minute });
    await wait('r', raised);
    expect(await start(targets(2, 2))).toEqual([raised]);
    expect(await readyOf()).toBe(1);
  });

  test('of another pool stay', async () => {
    const other: PoolTarget = { template: templateDigest('other'), minReady: 1, max: 1 };
    await start([other]);
    await wait('r', raised);
    await start([...targets(1), other]);
    expect(await readyOf(other.template)).toBe(1);
  });
});

describe('places of a pool', () => {
  test('are taken by a larger sandbox as by several', async () => {
    for (const rollout of ['a', 'b', 'c']) await wait(rollout, raised);
    expect(await start(targets(8, 0, 3))).toEqual([raised, raised]);
    await wait('d');
    await wait('e');
    await wait('f');
    expect(await start(targets(8, 0, 3))).toEqual([]);
  });

  test('stay free for graders as large as their task, if their own share is smaller', async () => {
    for (const rollout of ['a', 'b', 'c']) await wait(rollout, raised);
    expect(await start(targets(12, 0, 4, 3))).toEqual([raised, raised]);
  });

  test('stay free for them, too, when smaller sandboxes start', async () => {
    await wait('a', raised);
    await start(targets(10, 0, 4, 3));
    for (let index = 0; index < 8; index += 1) await wait(`small-${index}`);
    expect(await start(targets(10, 0, 4, 3))).toHaveLength(3);
  });

  test('are there for one sandbox that is larger than the pool', async () => {
    await wait('a', raised);
    expect(await start(targets(2, 0, 9, 9))).toEqual([raised]);
  });

  test('of a pool of 0 are there for no sandbox, however large it is', async () => {
    await wait('a', raised);
    expect(await start(targets(0, 0, 9))).toEqual([]);
  });

  test('are kept for a larger one that waits: smaller ones that came later do not take each that becomes free', async () => {
    await wait('a');
    await wait('b');
    expect(await start(targets(2))).toEqual([own, own]);
    await wait('large', raised);
    await wait('small');
    await end('a');
    expect(await start(targets(2, 0, 2))).toEqual([]);
    await end('b');
    expect(await start(targets(2, 0, 2))).toEqual([raised]);
    expect(await start(targets(2, 0, 2))).toEqual([]);
    await end('large');
    expect(await start(targets(2, 0, 2))).toEqual([own]);
  });
});

describe('a template for which no machine had room', () => {
  test('has one start at a time, so that it does not hold the slots of others', async () => {
    for (let index = 0; index < 6; index += 1) await wait(`r${index}`, raised);
    await fail();
    expect((await reserve(targets(100)))?.template).toBe(raised);
    expect(await reserve(targets(100))).toBeNull();
  });

  test('has the slots of one that starts again once a start succeeds', async () => {
    for (let index = 0; index < 7; index += 1) await wait(`r${index}`, raised);
    await fail();
    const reserved = await reserve(targets(100));
    await world.fleet.pool.ready(
      sandboxId(reserved?.sandbox ?? ''),
      bootId('b'),
      sandboxAddress('unix:/run/s'),
    );
    let later = 0;
    while ((await reserve(targets(100))) !== null) later += 1;
    expect(later).toBe(budget / 2);
  });

  test('takes no idle sandbox away: their end is no room on a machine', async () => {
    await start(targets(100, 2));
    await wait('r', raised);
    await fail();
    await reserve(targets(100, 2));
    expect(await readyOf()).toBe(2);
  });
});

test('a grader is not held up by templates of which no sandbox stands', async () => {
  await world.supply(1);
  await world.active('graded');
  await world.fleet.grades.begin(keyOf('graded'), gradeAsk());
  const rowOf = (name: string): PoolTarget => ({
    template: templateDigest(name),
    minReady: 0,
    max: 100,
    group: version,
    chosenFor: version,
  });
  const rows = [rowOf('row-1'), rowOf('row-2')];
  for (const { template } of rows)
    for (let index = 0; index < 4; index += 1) await wait(`${template}-${index}`, template);
  let unproven = 0;
  while ((await reserve(rows)) !== null) unproven += 1;
  expect(unproven).toBe(budget / 2);
  const owner = { ...ownerOf('graded'), role: 'grader' } as const;
  await world.fleet.claims.claim(claimOf('graded', { owner, template: raised, item: null, turn: 1 }));
  const graders: PoolTarget = { template: raised, minReady: 0, max: 9, group: 'g', chosenFor: version };
  expect((await reserve([...rows, graders]))?.template).toBe(raised);
});

test.each([
  ['new-environment:', 'new-environments'],
  ['environment-2:', 'environments-2'],
])(
  'an environment in %s is found in every way, and lives on while rollouts are opened in it',
  async (prefix, versions) => {
    const environment = fakeEnvironment({
      version: environmentVersion('demanding-1'),
      demands: { memoryBytes: 'memory' },
    });
    await world.fleet.environments.publish(environment);
    for (const [from, to] of [
      ['environment:demanding-1', `${prefix}demanding-1`],
      ['environments', versions],
    ] as const)
      await world.redis.rename(`corral:{test}:${from}`, `corral:{test}:${to}`);
    expect(await world.fleet.environments.load(environment.version)).toEqual(environment);
    expect(await world.fleet.environments.published()).toEqual([environment]);
    expect(await world.fleet.environments.beginning('demanding')).toEqual(['demanding-1']);
    await world.step(10 * 24 * 60 * minute);
    await world.fleet.claims.claim(claimOf('a', { version: environment.version }));
    await world.step(10 * 24 * 60 * minute);
    expect(await world.fleet.environments.load(environment.version)).toEqual(environment);
  },
);
