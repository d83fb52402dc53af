import { expect, test } from 'vitest';
import { rolloutKey } from '../../../src/model/rollout.ts';
import type { SandboxId } from '../../../src/model/ids.ts';
import { ownerOf, RecoveryWorld } from './world.ts';

const silent = { kind: 'not_sent', detail: 'no answer' } as const;

/** A rollout with a call in it, whose sandbox says nothing when everybody is asked. */
async function forgottenAndSilent(world: RecoveryWorld): Promise<SandboxId> {
  const sandbox = await world.ready();
  await world.core.sh('a', 'c1', 'echo one');
  await world.provider.label(sandbox, ownerOf('a'), 0);
  await world.forgetAll();
  world.link.failNext('identity', silent);
  expect(await world.recover()).toEqual({ unsure: 1 });
  return sandbox;
}

test('a sandbox that does not answer is neither granted nor destroyed, and its rollout is not opened anew', async () => {
  await using world = await RecoveryWorld.start();
  const sandbox = await forgottenAndSilent(world);
  await world.ready();
  world.core.waitMs = 400;
  await expect(world.core.grade('a', 'yes', ['c1'])).rejects.toMatchObject({ code: 'recovering' });
  await expect(world.core.sh('a', 'c2', 'echo')).rejects.toMatchObject({ code: 'recovering' });
  expect((await world.core.state.pool.known()).get(sandbox)).toMatchObject({ phase: 'unsure', owner: null });
  expect(await world.core.state.pool.draining(10)).toEqual([]);
  expect(await world.counts()).toMatchObject({ ready: 1, held: 0 });
});

test('when it answers, the request that was held goes on in it', async () => {
  await using world = await RecoveryWorld.start();
  const sandbox = await forgottenAndSilent(world);
  await world.ready();
  const call = world.core.sh('a', 'c2', 'echo two');
  await world.recheck();
  expect(await call).toMatchObject({ output: 'echo two', epoch: { sandbox } });
  expect(world.link.ran).toEqual(['c1', 'c2']);
});

test('when the provider says that it is gone, its rollout is lost, and never scored', async () => {
  await using world = await RecoveryWorld.start();
  const sandbox = await forgottenAndSilent(world);
  world.provider.end(sandbox, 'evicted');
  await world.recheck();
  await world.ready();
  await expect(world.core.sh('a', 'c2', 'echo')).rejects.toMatchObject({ code: 'sandbox_lost' });
  await expect(world.core.grade('a', 'yes', ['c1'])).rejects.toMatchObject({ code: 'rollout_unknown' });
  expect((await world.core.state.pool.known()).has(sandbox)).toBe(false);
});

test('a sandbox that names another owner than the provider is believed in nothing', async () => {
  await using world = await RecoveryWorld.start();
  const sandbox = await world.ready();
  await world.core.sh('a', 'c1', 'echo');
  await world.provider.label(sandbox, ownerOf('b'), 0);
  await world.forgetAll();
  expect(await world.recover()).toEqual({ unsure: 1 });
  await expect(world.core.state.claims.find(ownerOf('b'), 1)).rejects.toMatchObject({ code: 'recovering' });
  expect(await world.core.state.claims.find(ownerOf('a'), 1)).toBeNull();
});

test('a ready one that did not answer joins the pool when it does', async () => {
  await using world = await RecoveryWorld.start();
  const sandbox = await world.ready();
  await world.forgetAll();
  world.link.failNext('identity', silent);
  await world.recover();
  const call = world.core.sh('a', 'c1', 'echo');
  await world.recheck();
  expect((await call).epoch?.sandbox).toBe(sandbox);
});

test('a sandbox that makes recovery stumble does not keep the others waiting', async () => {
  await using world = await RecoveryWorld.start();
  await world.ready();
  await world.core.sh('a', 'c1', 'echo');
  await world.ready();
  await world.forgetAll();
  const { recovery } = world.core.state;
  Object.assign(recovery, { restoreRollout: () => Promise.reject(new Error('a defect')) });
  expect(await world.recover()).toEqual({ unsure: 1, ready: 1 });
  expect(rolloutKey(ownerOf('a'))).toContain('/a/');
  expect(await world.core.sh('b', 'c1', 'echo')).toMatchObject({ output: 'echo' });
});
