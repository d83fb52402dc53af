import { expect, test } from 'vitest';
import type { SandboxId } from '#src/model/ids.ts';
import { ownerOf, RecoveryWorld } from './world.ts';

const silent = { kind: 'not_sent', detail: 'no answer' } as const;

/** A rollout with a call in it, whose sandbox says nothing when everybody is asked. */
async function forgottenAndSilent(world: RecoveryWorld): Promise<SandboxId> {
  const sandbox = await world.ready();
  await world.core.sh('a', 'c1', 'echo one');
  await world.provider.label(sandbox, ownerOf('a'), 0);
  await world.forgetAll();
  world.silent.add(sandbox);
  expect(await world.recover()).toEqual({ unsure: 1 });
  return sandbox;
}

/** The same, before anybody had written whose it is. */
async function silentAndNameless(world: RecoveryWorld): Promise<SandboxId> {
  const sandbox = await world.ready();
  await world.core.sh('a', 'c1', 'echo one');
  await world.forgetAll();
  world.silent.add(sandbox);
  expect(await world.recover()).toEqual({ unsure: 1 });
  return sandbox;
}

test('a sandbox that does not answer is neither granted nor destroyed, and its rollout is not opened again', async () => {
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
  world.silent.clear();
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
  world.silent.add(sandbox);
  await world.recover();
  const call = world.core.sh('a', 'c1', 'echo');
  world.silent.clear();
  await world.recheck();
  expect((await call).epoch?.sandbox).toBe(sandbox);
});

test('one broken connection is not silence: the sandbox is asked again at once, and its rollout goes on', async () => {
  await using world = await RecoveryWorld.start();
  const sandbox = await world.ready();
  await world.core.sh('a', 'c1', 'echo');
  await world.forgetAll();
  world.link.failNext('identity', { kind: 'maybe_sent', detail: 'connection reset' });
  world.link.failNext('identity', silent);
  expect(await world.recover()).toEqual({ live: 1 });
  expect(await world.core.sh('a', 'c2', 'echo')).toMatchObject({ epoch: { sandbox } });
});

test('while a silent sandbox without label may be anybody’s, no unknown rollout is opened, and known ones go on', async () => {
  await using world = await RecoveryWorld.start();
  await world.ready();
  await world.core.sh('b', 'c1', 'echo');
  const sandbox = await silentAndNamelessBeside(world);
  await world.ready();
  expect(await world.core.sh('b', 'c2', 'echo')).toMatchObject({ output: 'echo' });
  const call = world.core.sh('a', 'c2', 'echo two');
  world.core.waitMs = 300;
  await expect(world.core.sh('new', 'c1', 'echo')).rejects.toMatchObject({ code: 'recovering' });
  await expect(world.core.grade('a', 'yes', [])).rejects.toMatchObject({ code: 'recovering' });
  world.silent.clear();
  await world.recheck();
  expect(await call).toMatchObject({ output: 'echo two', epoch: { sandbox } });
});

async function silentAndNamelessBeside(world: RecoveryWorld): Promise<SandboxId> {
  const sandbox = await world.ready();
  await world.core.sh('a', 'c1', 'echo one');
  await world.forgetAll();
  world.silent.add(sandbox);
  expect(await world.recover()).toEqual({ live: 1, unsure: 1 });
  return sandbox;
}

test('a controller that has seen whose it is knows without a label: only that rollout waits', async () => {
  await using world = await RecoveryWorld.start();
  const sandbox = await world.ready();
  await world.core.sh('a', 'c1', 'echo one');
  await world.recheck();
  await world.forgetAll();
  world.silent.add(sandbox);
  await world.recover();
  await world.ready();
  expect(await world.core.sh('new', 'c1', 'echo')).toMatchObject({ output: 'echo' });
  world.core.waitMs = 300;
  await expect(world.core.sh('a', 'c2', 'echo')).rejects.toMatchObject({ code: 'recovering' });
});

test('a silent sandbox without label does not stop the fleet for ever', async () => {
  await using world = await RecoveryWorld.start();
  const sandbox = await silentAndNameless(world);
  await world.ready();
  const call = world.core.sh('new', 'c1', 'echo');
  await world.endHold();
  expect(await call).toMatchObject({ output: 'echo' });
  expect((await world.core.state.pool.known()).get(sandbox)).toMatchObject({ phase: 'unsure' });
  expect(await world.core.state.pool.draining(10)).toEqual([]);
});

test('nor does one that is gone', async () => {
  await using world = await RecoveryWorld.start();
  const sandbox = await silentAndNameless(world);
  await world.ready();
  const call = world.core.sh('new', 'c1', 'echo');
  world.provider.end(sandbox, 'evicted');
  await world.recheck();
  expect(await call).toMatchObject({ output: 'echo' });
});

test('a rollout that was opened again meanwhile is lost when its first sandbox answers: neither has all of its state', async () => {
  await using world = await RecoveryWorld.start();
  const first = await silentAndNameless(world);
  await world.endHold();
  const second = await world.ready();
  expect(await world.core.sh('a', 'c2', 'echo two')).toMatchObject({ epoch: { sandbox: second } });
  world.silent.clear();
  await world.recheck();
  expect(await world.record('a')).toMatchObject({
    discarded: { code: 'sandbox_lost', cause: 'pod_replaced' },
  });
  expect(new Set(await world.core.state.pool.draining(10))).toEqual(new Set([first, second]));
  await expect(world.core.grade('a', 'yes', [])).rejects.toMatchObject({ code: 'sandbox_lost' });
});

test('one that was opened again and has run nothing yet moves back to where it has', async () => {
  await using world = await RecoveryWorld.start();
  const first = await silentAndNameless(world);
  await world.endHold();
  await world.ready();
  await world.core.open('a');
  world.silent.clear();
  await world.recheck();
  expect(await world.record('a')).toMatchObject({ state: 'active', calls: 1, epoch: { sandbox: first } });
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
  expect(await world.core.sh('b', 'c1', 'echo')).toMatchObject({ output: 'echo' });
});
