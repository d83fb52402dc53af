import { describe, expect, test } from 'vitest';
import { connectFleetState } from '#src/adapters/redis/fleet-state.ts';
import { bootId, environmentName, runId, sandboxId } from '#src/model/ids.ts';
import { sandboxAddress } from '#src/model/rollout.ts';
import {
  claimOf,
  gradeAsk,
  held,
  keyOf,
  minute,
  sandboxOf,
  second,
  worldOfTests,
  template,
  tenant,
} from './world.ts';
import { reserveOne } from '#test/support/reserve-one.ts';

const world = worldOfTests();

const target = { template, minReady: 10, max: 10, environment: environmentName('code') };
const address = sandboxAddress('unix:/run/sandbox');

const start = (name: string) => reserveOne(world.fleet.pool, sandboxId(name), [target], 10, minute);
const becomeReady = (name: string) =>
  world.fleet.pool.ready(sandboxId(name), bootId(`boot-${name}`), address);

/** Started within 2 s and nobody's for 3 s more. */
async function readySandbox(name: string) {
  await start(name);
  await world.step(2 * second);
  await becomeReady(name);
  await world.step(3 * second);
}

/** By environment and state, in seconds. */
async function cost(): Promise<Record<string, number>> {
  const costs = await world.fleet.reports.cost();
  return Object.fromEntries(
    costs.map(({ environment, state, ms }) => [`${environment} ${state}`, ms / second]),
  );
}

const idle = { 'code starting': 2, 'code ready': 3 };

async function score(name: string) {
  const key = keyOf(name);
  const begun = await world.fleet.grades.begin(key, gradeAsk());
  if (begun.kind !== 'run') throw new Error(`not begun: ${begun.kind}`);
  await world.fleet.grades.score(key, begun.turn, 1, {});
}

const lose = (name: string, cause: 'evicted' | 'out_of_memory' = 'evicted') =>
  world.fleet.lifecycle.lose(sandboxId(name), null, cause, {});

test('a sandbox’s time is told as it starts, as it is ready, and by what became of its rollout', async () => {
  await readySandbox('s1');
  await world.active('a');
  expect(await cost()).toEqual(idle);
  await world.step(10 * second);
  expect(await cost()).toEqual(idle);
  await score('a');
  expect(await cost()).toEqual({ ...idle, 'code scored': 10 });
});

test('a sandbox that goes to who waits was never idle', async () => {
  await world.fleet.claims.claim(claimOf('a'));
  await start('s1');
  await world.step(2 * second);
  await becomeReady('s1');
  await world.step(4 * second);
  await world.fleet.lifecycle.close(keyOf('a'), 'finished');
  expect(await cost()).toEqual({ 'code starting': 2, 'code ungraded': 4 });
});

describe('what a rollout’s sandbox cost counts as', () => {
  test('discarded, at once, when it is lost under its calls', async () => {
    await readySandbox('s1');
    await world.running('a');
    await world.step(7 * second);
    await lose('s1');
    expect(await cost()).toEqual({ ...idle, 'code discarded': 7 });
  });

  test('discarded when nobody called it any more', async () => {
    await readySandbox('s1');
    await world.active('a');
    await world.step(20 * minute);
    await world.fleet.lifecycle.expireDue(10);
    expect(await cost()).toEqual({ ...idle, 'code discarded': 20 * 60 });
  });

  test('ungraded when it was finished without a score', async () => {
    await readySandbox('s1');
    await world.active('a');
    await world.step(second);
    await world.fleet.lifecycle.close(keyOf('a'), 'finished');
    expect(await cost()).toEqual({ ...idle, 'code ungraded': 1 });
  });

  test('scored when its policy had broken it and it was scored after that; what came between cost nothing', async () => {
    await readySandbox('s1');
    await world.running('a');
    await world.step(5 * second);
    await lose('s1', 'out_of_memory');
    expect(await cost()).toEqual(idle);
    await world.step(minute);
    await score('a');
    expect(await cost()).toEqual({ ...idle, 'code scored': 5 });
  });

  test('what became of the rollout, also of the sandbox that it was given before', async () => {
    await readySandbox('s1');
    await held(world.fleet, claimOf('a'));
    await world.step(4 * second);
    await lose('s1');
    await start('s2');
    await becomeReady('s2');
    await world.step(6 * second);
    await world.fleet.lifecycle.close(keyOf('a'), 'finished');
    expect(await cost()).toEqual({ ...idle, 'code ungraded': 10 });
  });
});

describe('of a sandbox that nobody had', () => {
  test('a start that failed has cost its time', async () => {
    await start('s1');
    await world.step(8 * second);
    await world.fleet.pool.launchFailed(sandboxId('s1'), 'start_failed', 'no', null);
    expect(await cost()).toEqual({ 'code starting': 8 });
  });

  test('one that was lost, retired or forgotten while it was ready has cost what it was ready', async () => {
    for (const name of ['s1', 's2', 's3']) {
      await start(name);
      await becomeReady(name);
    }
    await world.step(second);
    await lose('s1');
    await world.fleet.pool.forget(sandboxId('s2'));
    await world.step(second);
    await world.fleet.pool.retire(template, 0, 0);
    expect(await cost()).toEqual({ 'code ready': 4 });
  });
});

test('however often the end of a sandbox is told, and by whomever, its cost is told once', async () => {
  await readySandbox('s1');
  const rollout = await world.active('a');
  await world.step(9 * second);
  const ends = [
    () => lose('s1'),
    () => world.fleet.lifecycle.close(rollout.key, 'finished'),
    () => world.fleet.lifecycle.close(rollout.key, 'deleted'),
    () => world.fleet.pool.launchFailed(sandboxOf(rollout), 'start_failed', 'late', null),
    () => becomeReady('s1'),
    () => world.fleet.pool.withdraw(sandboxId('s1'), 'late'),
    () => world.fleet.lifecycle.closeRun(tenant, runId('run-1'), 10),
    () => world.fleet.pool.forget(sandboxId('s1')),
  ];
  for (const end of [...ends, ...ends.toReversed(), ...ends]) {
    await end();
    await world.step(second);
  }
  expect(await cost()).toEqual({ ...idle, 'code discarded': 9 });
  const report = await world.fleet.reports.run(tenant, runId('run-1'));
  expect(report?.sandboxMs).toEqual({ scored: 0, discarded: 9 * second, ungraded: 0 });
});

test('sandboxes of every end together have cost what they lived', async () => {
  const names = Array.from({ length: 24 }, (_, index) => `s${index}`);
  let livedMs = 0;
  for (const [index, name] of names.entries()) {
    const beganMs = world.nowMs();
    await start(name);
    await world.step((index % 3) * second);
    if (index % 5 === 0) await world.fleet.pool.launchFailed(sandboxId(name), 'start_failed', 'no', null);
    else {
      await becomeReady(name);
      await world.step((index % 4) * second);
      const { key } = await world.active(name);
      await world.step((index % 7) * second);
      if (index % 2 === 0) await lose(name);
      await world.fleet.lifecycle.close(key, 'finished');
    }
    livedMs += world.nowMs() - beganMs;
    await world.fleet.pool.forget(sandboxId(name));
  }
  const sum = Object.values(await cost()).reduce((total, seconds) => total + seconds, 0);
  expect(sum).toBe(livedMs / second);
});

test('another process tells the same, and an emptied Redis begins at 0', async () => {
  await readySandbox('s1');
  await world.active('a');
  const other = await connectFleetState({
    url: world.redis.options.path ?? '',
    fleet: 'test',
    commandTimeoutMs: 5_000,
    onTrouble: () => undefined,
  });
  expect(await other.reports.cost()).toEqual(await world.fleet.reports.cost());
  await other.close();
  await world.reset();
  expect(await cost()).toEqual({});
});

test('a sandbox of which Redis does not know the environment counts as unknown', async () => {
  await world.supply(1);
  await world.step(second);
  await world.fleet.pool.retire(template, 0, 0);
  expect(await cost()).toEqual({ 'unknown ready': 1 });
});
