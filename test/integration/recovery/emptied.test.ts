import { expect, test } from 'vitest';
import type { Item } from '#src/model/grader.ts';
import { Failure } from '#src/failure/failure.ts';
import { callId, rolloutId } from '#src/model/ids.ts';
import { caller, plain } from '#test/support/core-world.ts';
import { answering } from '#test/fakes/sandbox-link.ts';
import { ownerOf, RecoveryWorld, stranger } from './world.ts';
import { wholeRun } from '#src/reports/run-report.ts';

test('until somebody has recovered, everything is told to wait, and nothing is granted', async () => {
  await using world = await RecoveryWorld.start();
  await world.ready();
  await world.forgetAll();
  const { claims, pool } = world.core.state;
  await expect(claims.find(ownerOf('a'), 1)).rejects.toMatchObject({ code: 'recovering' });
  await expect(pool.known()).rejects.toMatchObject({ code: 'recovering' });
});

test('a rollout goes on in its own sandbox, with its calls counted and known', async () => {
  await using world = await RecoveryWorld.start();
  const sandbox = await world.ready();
  await world.core.sh('a', 'c1', 'echo one');
  await world.settled(sandbox, 'c1');
  await world.forgetAll();
  expect(await world.recover()).toEqual({ live: 1 });
  const record = await world.record('a');
  expect(record).toMatchObject({
    state: 'active',
    calls: 1,
    inFlight: 0,
    environment: 'plain',
    itemKey: 'item-1',
  });
  expect(record.epoch).toEqual({ sandbox, boot: 'boot-1' });
  expect(await world.core.sh('a', 'c2', 'echo two')).toMatchObject({
    output: 'echo two',
    epoch: { sandbox },
  });
  expect(world.link.ran).toEqual(['c1', 'c2']);
  expect((await world.record('a')).calls).toBe(2);
});

test('a call that was settled in what Redis forgot is not run again: its repeat gets the answer that its sandbox has', async () => {
  await using world = await RecoveryWorld.start();
  const sandbox = await world.ready();
  await world.core.sh('a', 'c1', 'echo one');
  await world.settled(sandbox, 'c1');
  await world.forgetAll();
  await world.recover();
  expect(await world.core.sh('a', 'c1', 'echo one')).toMatchObject({ output: 'echo one', replayed: true });
  await expect(world.core.sh('a', 'c1', 'echo other')).rejects.toMatchObject({ code: 'call_conflict' });
  expect(world.link.ran).toEqual(['c1']);
});

test('a sandbox that hears only after it was asked that a call is settled: its repeats get the answer', async () => {
  await using world = await RecoveryWorld.start();
  const sandbox = await world.ready();
  await world.core.sh('a', 'c1', 'echo one');
  await world.forgetAll();
  await world.recover();
  await world.settled(sandbox, 'c1');
  for (const _ of ['once', 'again'])
    expect(await world.core.sh('a', 'c1', 'echo one')).toMatchObject({ output: 'echo one' });
  expect(await world.core.grade('a', 'yes', ['c1'])).toMatchObject({ score: 1 });
});

test('its dataset row is not there any more: a grade that does not bring it again is told so, and nobody is blamed', async () => {
  await using world = await RecoveryWorld.start();
  await world.ready();
  await world.core.sh('a', 'c1', 'echo one');
  await world.forgetAll();
  await world.recover();
  const gradeWith = (item: Item | null) =>
    world.core.wired.core.grade(caller, {
      rollout: { rollout: rolloutId('a'), attempt: null },
      open: { environment: plain, item },
      sample: JSON.stringify({ output_text: 'yes', output_tools: [{ id: 'c1' }] }),
      waitMs: 1_000,
    });
  await expect(gradeWith(null)).rejects.toMatchObject({ code: 'state_unavailable', blame: 'infrastructure' });
  expect(await gradeWith({ answer: 'yes' })).toMatchObject({ score: 1 });
});

test('an answer that the sandbox still keeps is had again at another gateway, and runs once', async () => {
  await using world = await RecoveryWorld.start();
  await world.ready();
  const first = await world.core.sh('a', 'c1', 'echo one');
  await world.forgetAll();
  await world.recover();
  const other = world.core.gateway();
  expect(await world.core.sh('a', 'c1', 'echo one', other.core)).toMatchObject({ output: first.output });
  expect(world.link.ran).toEqual(['c1']);
  await other.close();
});

test('a call that runs meanwhile settles exactly once, and its request is held until then', async () => {
  await using world = await RecoveryWorld.start();
  await world.ready();
  const running = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  world.link.behaviour = async () => {
    running.resolve();
    await end.promise;
    return answering({ stdout: 'slow' });
  };
  const call = world.core.sh('a', 'c1', 'slow');
  await running.promise;
  await world.forgetAll();
  end.resolve();
  await world.recover();
  expect(await call).toMatchObject({ output: 'slow', outcome: 'completed' });
  expect(await world.core.sh('a', 'c1', 'slow')).toMatchObject({ output: 'slow', replayed: true });
  expect(world.link.ran).toEqual(['c1']);
  expect(await world.record('a')).toMatchObject({ state: 'active', inFlight: 0, calls: 1 });
  const settled = world.core.events.filter((event) => event.kind === 'call_settled');
  expect(settled).toHaveLength(1);
});

test('a rollout in line is held, and gets its sandbox when one is there', async () => {
  await using world = await RecoveryWorld.start();
  const call = world.core.sh('a', 'c1', 'echo one');
  await expect.poll(async () => (await world.counts())?.waiting).toBe(1);
  await world.forgetAll();
  await world.recover();
  await expect.poll(async () => (await world.counts())?.waiting).toBe(1);
  await world.ready();
  expect(await call).toMatchObject({ output: 'echo one' });
});

test('ready sandboxes are claimed again, those bound to a rollout are not', async () => {
  await using world = await RecoveryWorld.start();
  const mine = await world.ready();
  await world.core.sh('a', 'c1', 'echo');
  const free = await world.ready();
  await world.forgetAll();
  expect(await world.recover()).toEqual({ live: 1, ready: 1 });
  expect(await world.counts()).toMatchObject({ ready: 1, held: 1 });
  const other = await world.core.sh('b', 'c1', 'echo');
  expect(other.epoch?.sandbox).toBe(free);
  expect((await world.record('a')).epoch?.sandbox).toBe(mine);
});

test("a start that was forgotten half-way is nobody's, and serves nobody", async () => {
  await using world = await RecoveryWorld.start();
  world.link.start(stranger, 'boot-s', { probed: false });
  await world.provide(stranger);
  await world.forgetAll();
  expect(await world.recover()).toEqual({ stranger: 1 });
  expect((await world.core.state.pool.known()).size).toBe(0);
});

test('a sandbox that has forgotten its rollout is another life of it, and serves nobody', async () => {
  await using world = await RecoveryWorld.start();
  world.link.start(stranger, 'boot-s');
  await world.provide(stranger);
  await world.provider.label(stranger, ownerOf('a'), 0);
  await world.forgetAll();
  expect(await world.recover()).toEqual({ stranger: 1 });
});

test('bound, and nothing ran yet: the rollout is claimed in its sandbox, and its first call goes on there', async () => {
  await using world = await RecoveryWorld.start();
  const sandbox = await world.ready();
  // Redis goes away between the bind and the admission of the first call.
  const { calls } = world.core.state;
  const intact = { ...calls };
  const asked = Promise.withResolvers<void>();
  let tries = 0;
  calls.admit = (request) => {
    tries += 1;
    asked.resolve();
    return tries > 1 ? intact.admit(request) : Promise.reject(new Failure('recovering', 'Redis went away'));
  };
  const gateway = world.core.gateway();
  const call = world.core.sh('a', 'c1', 'echo one', gateway.core);
  await asked.promise;
  await world.forgetAll();
  expect(await world.recover()).toEqual({ live: 1 });
  expect(await call).toMatchObject({ output: 'echo one', epoch: { sandbox } });
  expect(world.link.binds).toEqual([sandbox]);
  await gateway.close();
});

async function* bytes() {
  yield Buffer.from('x');
}

test('a file that was put is state too: its rollout is not swapped silently afterwards', async () => {
  await using world = await RecoveryWorld.start();
  const sandbox = await world.ready();
  await world.core.open('a');
  const ref = { rollout: rolloutId('a'), attempt: null };
  const native = { ...caller, face: 'native' as const };
  await world.core.wired.core.putFile(native, ref, { path: 'note', user: 'policy', form: 'file' }, bytes());
  await world.forgetAll();
  await world.recover();
  expect(await world.record('a')).toMatchObject({ state: 'active', calls: 0, face: 'native' });
  const effect = await world.core.state.lifecycle.lose(sandbox, null, 'evicted', {});
  expect(effect.kind).toBe('tainted');
});

test('a version that only runs know is pinned again', async () => {
  await using world = await RecoveryWorld.start();
  await world.ready();
  await world.core.sh('a', 'c1', 'echo');
  await world.forgetAll();
  await world.recover();
  const { claims } = world.core.state;
  const { environment } = world.core;
  const other = 'version-2' as typeof environment.version;
  expect(await claims.pinVersion(caller.tenant, caller.run, environment.name, other)).toBe(
    environment.version,
  );
  expect(plain.name).toBe(environment.name);
});

test('two controllers at once write back one rollout, and one that is late changes nothing', async () => {
  await using world = await RecoveryWorld.start();
  await world.ready();
  await world.core.sh('a', 'c1', 'echo');
  await world.forgetAll();
  const found = await Promise.all([world.recover(), world.recover()]);
  expect(found).toEqual([{ live: 1 }, { live: 1 }]);
  expect(await world.recover()).toBeNull();
  expect(await world.record('a')).toMatchObject({ calls: 1, generation: 1 });
  const report = await wholeRun(world.core.state.reports, caller.tenant, caller.run);
  expect(report).toMatchObject({ rollouts: 1, open: 1, groups: [{ n: 1 }] });
});

test('only the newer of two attempts lives on', async () => {
  await using world = await RecoveryWorld.start();
  await world.ready();
  await world.ready();
  const native = { ...caller, face: 'native' as const };
  const exec = (attempt: number) =>
    world.core.wired.core.exec(native, {
      rollout: { rollout: rolloutId('a'), attempt },
      call: callId('c1'),
      argv: ['echo'],
      timeoutMs: null,
      waitMs: 5_000,
    });
  await world.core.open('a');
  await exec(1);
  await world.core.open('a', { attempt: 2 });
  await exec(2);
  await world.forgetAll();
  expect(await world.recover()).toMatchObject({ live: expect.any(Number) });
  const { claims, pool } = world.core.state;
  expect(await claims.find(ownerOf('a'), null)).toMatchObject({
    owner: { attempt: 2 },
    state: 'active',
    calls: 0,
  });
  expect(await pool.draining(10)).toHaveLength(1);
});
