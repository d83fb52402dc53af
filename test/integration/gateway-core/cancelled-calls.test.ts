import { expect, test } from 'vitest';
import { callId, rolloutId } from '#src/model/ids.ts';
import { answering } from '#test/fakes/sandbox-link.ts';
import { caller, CoreWorld } from '#test/support/core-world.ts';

const cancelIn = (core: CoreWorld['wired']['core'], call: string) =>
  core.cancel(caller, { rollout: rolloutId('trace_1'), attempt: null }, callId(call));

test('a call that is cancelled while it waits in line never runs, also if another gateway hears of the cancel', async () => {
  await using world = await CoreWorld.start();
  const other = world.gateway();
  const waiting = world.sh('trace_1', 'call_1', 'touch it');
  await expect
    .poll(() => cancelIn(other.core, 'call_1').catch(() => null))
    .toEqual({
      began: false,
      waiting: true,
    });
  await world.ready();
  expect(await waiting).toMatchObject({ outcome: 'cancelled', exitCode: null, output: 'Error: cancelled' });
  expect(await world.sh('trace_1', 'call_2', 'ls')).toMatchObject({ outcome: 'completed' });
  expect(world.link.ran).toEqual(['call_2']);
  await other.close();
});

test('a call that runs is stopped, and the cancel says that it had begun', async () => {
  await using world = await CoreWorld.start();
  await world.ready();
  world.link.behaviour = () => new Promise(() => undefined);
  const running = world.sh('trace_1', 'call_1', 'sleep 900');
  await expect.poll(() => world.link.ran).toEqual(['call_1']);
  expect(await cancelIn(world.wired.core, 'call_1')).toEqual({ began: true, waiting: false });
  expect(await running).toMatchObject({ outcome: 'cancelled' });
  world.link.behaviour = async () => answering({ stdout: 'next' });
  expect(await world.sh('trace_1', 'call_2', 'ls')).toMatchObject({ output: 'next' });
});

test('a call that has ended had begun', async () => {
  await using world = await CoreWorld.start();
  await world.ready();
  await world.sh('trace_1', 'call_1', 'ls');
  expect(await cancelIn(world.wired.core, 'call_1')).toEqual({ began: true, waiting: false });
});
