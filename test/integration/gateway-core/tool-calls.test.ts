import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { answering } from '#test/fakes/sandbox-link.ts';
import { CoreWorld } from '#test/support/core-world.ts';

test('the first call of a rollout binds a warm sandbox and runs; later calls run in the same one', async () => {
  await using world = await CoreWorld.start();
  const sandbox = await world.ready();
  await world.ready();
  const first = await world.sh('trace_1', 'call_1', 'echo one');
  const second = await world.sh('trace_1', 'call_2', 'echo two');
  expect(first).toMatchObject({ output: 'echo one', outcome: 'completed', replayed: false });
  expect(second.output).toBe('echo two');
  expect(world.link.binds).toEqual([sandbox]);
  expect(second.epoch).toEqual(first.epoch);
});

test('parallel first calls share one claim and one bind', async () => {
  await using world = await CoreWorld.start();
  await world.ready();
  await world.ready();
  const ids = ['call_1', 'call_2', 'call_3', 'call_4'];
  const results = await Promise.all(ids.map((id) => world.sh('trace_1', id, id)));
  expect(results.map((result) => result.output)).toEqual(ids);
  expect(world.link.binds).toHaveLength(1);
});

test('a repeat gets the recorded answer and runs nothing, also at another gateway', async () => {
  await using world = await CoreWorld.start();
  await world.ready();
  const first = await world.sh('trace_1', 'call_1', 'date');
  const here = await world.sh('trace_1', 'call_1', 'date');
  const other = world.gateway();
  const there = await world.sh('trace_1', 'call_1', 'date', other.core);
  expect(here).toEqual({ ...first, replayed: true });
  expect(there).toEqual({ ...first, replayed: true });
  expect(world.link.ran).toEqual(['call_1']);
  await other.close();
});

test('a repeat gets the same answer also where the rollout was never heard of, until its end', async () => {
  await using world = await CoreWorld.start();
  await world.ready();
  const first = await world.sh('trace_1', 'call_1', 'date');
  const other = world.gateway();
  expect(await world.sh('trace_1', 'call_1', 'date', other.core)).toEqual({ ...first, replayed: true });
  await world.grade('trace_1', 'yes', ['call_1']);
  const repeated = world.sh('trace_1', 'call_1', 'date', other.core);
  await expect(repeated).rejects.toMatchObject({ code: 'answer_expired', admitted: 'yes' });
  const late = world.sh('trace_1', 'call_2', 'date', other.core);
  await expect(late).rejects.toMatchObject({ code: 'rollout_closed', admitted: 'no' });
  await other.close();
});

test('a call and a grade that come while fleet state is away are held and answered when it is back', async () => {
  await using world = await CoreWorld.start();
  await world.redis.restart('nothing');
  const call = world.sh('trace_1', 'call_1', 'echo');
  const grade = world.grade('trace_2', 'yes');
  await vi.waitFor(() => world.state.adoptRedis('empty'), { timeout: 5_000 });
  await world.ready();
  expect(await call).toMatchObject({ output: 'echo' });
  expect(await grade).toMatchObject({ score: 1 });
});

test('the same call id with other arguments is a conflict and runs nothing', async () => {
  await using world = await CoreWorld.start();
  await world.ready();
  await world.sh('trace_1', 'call_1', 'echo one');
  await expect(world.sh('trace_1', 'call_1', 'echo two')).rejects.toMatchObject({ code: 'call_conflict' });
  expect(world.link.ran).toEqual(['call_1']);
});

test('arguments that are wrong under the id of a call with right ones are a conflict, and so the other way round', async () => {
  await using world = await CoreWorld.start();
  await world.ready();
  await world.sh('trace_1', 'call_1', 'echo one');
  const conflict = { code: 'call_conflict' };
  await expect(world.call('trace_1', 'call_1', 'sh', { komand: 'one' })).rejects.toMatchObject(conflict);
  expect(await world.call('trace_1', 'call_2', 'sh', { komand: 'two' })).toMatchObject({
    outcome: 'refused',
  });
  await expect(world.call('trace_1', 'call_2', 'sh', { komand: 'three' })).rejects.toMatchObject(conflict);
  await expect(world.sh('trace_1', 'call_2', 'echo two')).rejects.toMatchObject(conflict);
});

test('a repeat that comes while the call runs joins it: one execution, one answer', async () => {
  await using world = await CoreWorld.start();
  await world.ready();
  const done = Promise.withResolvers<void>();
  world.link.behaviour = async () => {
    await done.promise;
    return answering({ stdout: 'slow' });
  };
  const other = world.gateway();
  const all = [
    world.sh('trace_1', 'call_1', 'slow'),
    world.sh('trace_1', 'call_1', 'slow'),
    world.sh('trace_1', 'call_1', 'slow', other.core),
  ];
  await sleep(100);
  done.resolve();
  const results = await Promise.all(all);
  expect(results.map((result) => result.output)).toEqual(['slow', 'slow', 'slow']);
  expect(world.link.ran).toEqual(['call_1']);
  await other.close();
});

test('a request whose time is up leaves with still_running; the work goes on and a repeat gets its answer', async () => {
  await using world = await CoreWorld.start();
  await world.ready();
  const done = Promise.withResolvers<void>();
  world.link.behaviour = async () => {
    await done.promise;
    return answering({ stdout: 'late' });
  };
  world.waitMs = 300;
  await expect(world.sh('trace_1', 'call_1', 'slow')).rejects.toMatchObject({ code: 'still_running' });
  done.resolve();
  world.waitMs = 20_000;
  expect(await world.sh('trace_1', 'call_1', 'slow')).toMatchObject({ output: 'late' });
  expect(world.link.ran).toEqual(['call_1']);
});

test('a rollout without a free sandbox is held until one is ready', async () => {
  await using world = await CoreWorld.start();
  const held = world.sh('trace_1', 'call_1', 'echo held');
  await expect.poll(() => world.wired.load().waiting, { timeout: 10_000 }).toBe(1);
  await world.ready();
  expect(await held).toMatchObject({ output: 'echo held' });
});

test('a rollout that waited in vain is told capacity_timeout before anything ran, and may come again', async () => {
  await using world = await CoreWorld.start();
  // An RFT request keeps the command's 2 s and 10 s for itself; what is left is the wait.
  world.waitMs = 12_300;
  await expect(world.sh('trace_1', 'call_1', 'echo')).rejects.toMatchObject({
    code: 'capacity_timeout',
    admitted: 'no',
  });
  await world.ready();
  expect(await world.sh('trace_1', 'call_1', 'echo')).toMatchObject({ output: 'echo', replayed: false });
});

test('a granted sandbox that is another life by now is swapped silently', async () => {
  await using world = await CoreWorld.start();
  await world.ready();
  await world.ready();
  world.link.failNext('bind', { kind: 'other_boot', boot: 'boot-x' });
  expect(await world.sh('trace_1', 'call_1', 'echo')).toMatchObject({ output: 'echo' });
  expect(world.link.binds).toEqual(['sb-2']);
});

test('setup runs once after bind and before the first call, with the exposed fields', async () => {
  const setup = { commands: [['prepare-task', '{item.answer}']], timeoutMs: 1_000 };
  await using world = await CoreWorld.start({ setup, expose: ['answer'] });
  await world.ready();
  await Promise.all([world.sh('trace_1', 'call_1', 'a'), world.sh('trace_1', 'call_2', 'b')]);
  expect(world.link.ran[0]).toBe('corral setup 0');
  expect(world.link.ran).toHaveLength(3);
});

test('a setup that fails in every sandbox is setup_failed, ours, and no call ran', async () => {
  const setup = { commands: [['broken']], timeoutMs: 1_000 };
  await using world = await CoreWorld.start({ setup });
  for (let count = 0; count < 6; count += 1) await world.ready();
  world.link.behaviour = () => answering({ stderr: 'no such task', ending: { kind: 'exited', exitCode: 2 } });
  await expect(world.sh('trace_1', 'call_1', 'a')).rejects.toMatchObject({
    code: 'setup_failed',
    blame: 'infrastructure',
  });
  expect(world.link.ran).not.toContain('call_1');
});

test('a connection that breaks after the command was sent is asked again: one execution, its answer', async () => {
  await using world = await CoreWorld.start();
  await world.ready();
  world.link.failNext('call', { kind: 'maybe_sent', detail: 'reset' });
  world.link.failNext('call', { kind: 'not_sent', detail: 'refused' });
  expect(await world.sh('trace_1', 'call_1', 'echo')).toMatchObject({ output: 'echo' });
  expect(world.link.ran).toEqual(['call_1']);
});

test('a granted sandbox that dies before its bind is swapped when its loss is known, not when patience ends', async () => {
  await using world = await CoreWorld.start();
  const dead = await world.ready();
  await world.ready();
  world.link.kill(dead);
  const call = world.sh('trace_1', 'call_1', 'echo');
  await sleep(200);
  const startedMs = performance.now();
  await world.state.lifecycle.lose(dead, null, 'sandboxd_killed', {});
  expect(await call).toMatchObject({ output: 'echo' });
  expect(performance.now() - startedMs).toBeLessThan(3_000);
});
