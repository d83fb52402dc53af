import { expect, test } from 'vitest';
import { CoreWorld } from '#test/support/core-world.ts';

test('a program of a tool that the image lacks is the environment’s failure, told with tool, program and image', async () => {
  await using world = await CoreWorld.start();
  const first = await world.ready();
  await world.ready();
  world.link.missing.add('look-up');
  const told = world.call('trace_1', 'call_1', 'look_up', { command: 'x' });
  await expect(told).rejects.toMatchObject({
    code: 'setup_failed',
    admitted: 'no',
    message: expect.stringMatching(/^the image \S+ lacks programs .*: look-up of look_up; fix the image/),
  });
  expect(world.link.ran).toEqual([]);
  expect(await world.sandboxesHeld()).toBe(1);
  expect(world.link.binds).toEqual([first]);
});

test('the tools beside it do not run either: a rollout is not begun with half of its tools', async () => {
  await using world = await CoreWorld.start();
  await world.ready();
  world.link.missing.add('look-up');
  await expect(world.sh('trace_1', 'call_1', 'echo')).rejects.toMatchObject({ code: 'setup_failed' });
  world.link.missing.clear();
  expect(await world.sh('trace_1', 'call_1', 'echo')).toMatchObject({ output: 'echo' });
});

test('programs that the setup brings are looked for when it has run', async () => {
  const setup = { commands: [['install', 'look-up']], timeoutMs: 1_000 };
  await using world = await CoreWorld.start({ setup });
  await world.ready();
  world.link.missing.add('look-up');
  const behaviour = world.link.behaviour.bind(world.link);
  world.link.behaviour = (request) => {
    world.link.missing.clear();
    return behaviour(request);
  };
  expect(await world.call('trace_1', 'call_1', 'look_up', { command: 'x' })).toMatchObject({ output: 'x' });
});
