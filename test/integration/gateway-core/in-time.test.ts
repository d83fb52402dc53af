import { expect, test } from 'vitest';
import { answering } from '#test/fakes/sandbox-link.ts';
import { CoreWorld } from '#test/support/core-world.ts';

test('a setup that outlasts its request: the request is answered in time, the setup goes on, and a repeat joins it', async () => {
  const setup = { commands: [['fetch']], timeoutMs: 60_000 };
  await using world = await CoreWorld.start({ setup });
  await world.ready();
  const end = Promise.withResolvers<void>();
  world.link.behaviour = async () => {
    await end.promise;
    return answering({ stdout: 'done' });
  };
  world.waitMs = 200;
  const startMs = performance.now();
  await expect(world.sh('trace_1', 'call_1', 'echo')).rejects.toMatchObject({ code: 'still_running' });
  expect(performance.now() - startMs).toBeLessThan(15_000);
  world.waitMs = 20_000;
  const repeat = world.sh('trace_1', 'call_1', 'echo');
  end.resolve();
  expect(await repeat).toMatchObject({ output: 'done' });
  expect(world.link.ran).toEqual(['corral setup 0', 'call_1']);
});
