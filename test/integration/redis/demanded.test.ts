import { describe, expect, test } from 'vitest';
import { bootId, environmentVersion, runId, sandboxId, templateDigest } from '#src/model/ids.ts';
import { sandboxAddress } from '#src/model/rollout.ts';
import type { TemplateChoice } from '#src/model/template-choice.ts';
import type { PoolTarget } from '#src/ports/fleet/pool.ts';
import { fakeEnvironment } from '#test/fakes/environment.ts';
import { claimOf, minute, ownerOf, second, tenant, worldOfTests } from './world.ts';

const world = worldOfTests();
let tickets = 0;

const version = environmentVersion('v1');
const own = templateDigest('own');
const raised = templateDigest('raised');
const budget = 8;

const choice: TemplateChoice = { version, amounts: { memoryBytes: 2 ** 31 } };
const targets = (max: number, minReady = 0): readonly PoolTarget[] => [
  { template: own, minReady, max, group: own },
  { template: raised, minReady: 0, max, group: own, chosenFor: version },
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
  return world.fleet.pool.reserve(`t${tickets}`, sandboxId(`s${tickets}`), of, budget, minute);
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

  test('stay for a burst that was announced', async () => {
    await start(targets(2, 2));
    await world.fleet.pool.announce(own, { tenant, run: runId('run-1'), count: 2, lifeMs: minute });
    await wait('r', raised);
    expect(await start(targets(2, 2))).toEqual([]);
    expect(await readyOf()).toBe(2);
  });

  test('of another pool stay', async () => {
    const other: PoolTarget = { template: templateDigest('other'), minReady: 1, max: 1 };
    await start([other]);
    await wait('r', raised);
    await start([...targets(1), other]);
    expect(await readyOf(other.template)).toBe(1);
  });

  test('give way if no machine has room for it, and are not refilled meanwhile', async () => {
    await start(targets(100, 2));
    await wait('r', raised);
    const failed = await reserve(targets(100, 2));
    await world.fleet.pool.launchFailed(sandboxId(failed?.sandbox ?? ''), 'unschedulable', 'no room', null);
    const again = await reserve(targets(100, 2));
    expect(again?.template).toBe(raised);
    expect(await readyOf()).toBe(1);
    expect(await reserve(targets(100, 2))).toBeNull();
  });
});

describe('an environment that the release before must not use', () => {
  const environment = fakeEnvironment({
    version: environmentVersion('demanding-1'),
    demands: { memoryBytes: 'memory' },
  });

  test('is found by this release in every way, and lies where the one before does not look', async () => {
    await world.fleet.environments.publish(environment);
    expect(await world.fleet.environments.load(environment.version)).toEqual(environment);
    expect(await world.fleet.environments.published()).toEqual([environment]);
    expect(await world.fleet.environments.beginning('demanding')).toEqual(['demanding-1']);
    expect(await world.redis.exists('corral:{test}:environment:demanding-1')).toBe(0);
  });

  test('lives on as others do while rollouts are opened in it', async () => {
    await world.fleet.environments.publish(environment);
    await world.step(10 * 24 * 60 * minute);
    await world.fleet.claims.claim(claimOf('a', { version: environment.version }));
    await world.step(10 * 24 * 60 * minute);
    expect(await world.fleet.environments.load(environment.version)).toEqual(environment);
  });
});

test('gateways of the release before are counted while they are heard', async () => {
  const word = {
    kind: 'gateway',
    host: 'a',
    pid: 1,
    version: '0',
    ageMs: 1,
    state: 'serving',
    inHand: {},
    atMost: {},
    verdicts: {},
  } as const;
  await world.fleet.watch.tell('old', word);
  await world.fleet.watch.tell('older controller', { ...word, kind: 'controller' });
  await world.fleet.watch.tell('gone', { ...word, state: 'left' });
  await world.fleet.watch.tell('new', { ...word, knowsDemands: true });
  expect(await world.fleet.claims.olderGateways()).toBe(1);
  await world.step(11 * second);
  expect(await world.fleet.claims.olderGateways()).toBe(0);
});
