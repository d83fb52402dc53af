import { expect, test } from 'vitest';
import { answering } from '#test/fakes/sandbox-link.ts';
import { ownerOf, RecoveryWorld } from './world.ts';

const idleMs = 500;
const limits = {
  toolCalls: 10,
  outputBytes: 65_536,
  rolloutMs: 60_000,
  idleMs,
  gradeMs: 60_000,
  hardLifeMs: 60_000,
};

test('Redis paused for longer than a lease: a call that ended meanwhile settles once, and its rollout has not idled out', async () => {
  await using world = await RecoveryWorld.start({ limits });
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
  world.core.redis.freeze();
  end.resolve();
  const { claims, lifecycle } = world.core.state;
  // A command that was not answered for two seconds: four times the idle time.
  await expect(claims.find(ownerOf('a'), 1)).rejects.toMatchObject({ code: 'state_unavailable' });
  world.core.redis.thaw();
  expect(await lifecycle.expireDue(10)).toEqual([]);
  expect(await call).toMatchObject({ output: 'slow', outcome: 'completed' });
  expect(await world.core.sh('a', 'c1', 'slow')).toMatchObject({ output: 'slow', replayed: true });
  expect(world.link.ran).toEqual(['c1']);
  expect(await world.recover()).toBeNull();
});
