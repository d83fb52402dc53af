import { expect, test } from 'vitest';
import { environmentVersion, tenantId } from '#src/model/ids.ts';
import { taskDigest } from '#src/model/requirements.ts';
import { worldOfTests } from './world.ts';

const world = worldOfTests();

const key = {
  tenant: tenantId('lab'),
  version: environmentVersion('v1'),
  task: taskDigest('b'.repeat(64)),
};
const leaseMs = 60_000;
const ask = (holder: string, again = false) => world.fleet.controls.ask(key, holder, leaseMs, again);

test('one holder plays, all others wait, and then have its standing', async () => {
  expect(await ask('one')).toEqual({ standing: 'play' });
  expect(await ask('two')).toEqual({ standing: 'wait' });
  const found = { standing: 'proven', verifierTookMs: 1_200 } as const;
  expect(await world.fleet.controls.conclude(key, 'one', found)).toEqual(found);
  expect(await ask('two')).toEqual(found);
  expect(await world.fleet.controls.standing(key)).toEqual(found);
});

test('a holder that asks again keeps its lease; one that is silent loses it', async () => {
  await ask('one');
  await world.step(leaseMs - 1);
  expect(await ask('one')).toEqual({ standing: 'play' });
  await world.step(leaseMs - 1);
  expect(await ask('two')).toEqual({ standing: 'wait' });
  await world.step(1);
  expect(await ask('two')).toEqual({ standing: 'play' });
  const late = await world.fleet.controls.conclude(key, 'one', { standing: 'refused', reason: 'late' });
  expect(late).toEqual({ standing: 'wait' });
  expect(await world.fleet.controls.standing(key)).toBeNull();
});

test('what is inconclusive records nothing, and the next one that asks plays', async () => {
  await ask('one');
  expect(await world.fleet.controls.conclude(key, 'one', null)).toEqual({ standing: 'wait' });
  expect(await world.fleet.controls.standing(key)).toBeNull();
  expect(await ask('two')).toEqual({ standing: 'play' });
});

test('a standing is found again where that is asked for', async () => {
  await ask('one');
  await world.fleet.controls.conclude(key, 'one', { standing: 'refused', reason: 'no pytest' });
  expect(await ask('two', true)).toEqual({ standing: 'play' });
  expect(await world.fleet.controls.standing(key)).toBeNull();
});

test('tasks, versions and tenants have standings of their own', async () => {
  await ask('one');
  await world.fleet.controls.conclude(key, 'one', { standing: 'unproven' });
  const others = [
    { ...key, tenant: tenantId('other') },
    { ...key, version: environmentVersion('v2') },
    { ...key, task: taskDigest('c'.repeat(64)) },
  ];
  for (const other of others) expect(await world.fleet.controls.standing(other)).toBeNull();
});
