import { expect, test } from 'vitest';
import { answering } from '../../fakes/sandbox-link.ts';
import { RecoveryWorld } from './world.ts';

const worth = { onExit: 0, onTimeout: 0, onOutOfMemory: 0, onBroken: 0 };
const grader = { kind: 'command', argv: ['verify'], files: {}, timeoutMs: 5_000, ...worth } as const;

test('a turn of the grader that a failover has forgotten is taken again inside: one request, one score', async () => {
  await using world = await RecoveryWorld.start({ grader });
  await world.ready();
  await world.core.sh('a', 'c1', 'echo');
  const { key } = await world.record('a');
  let turns = 0;
  world.link.behaviour = async () => {
    turns += 1;
    if (turns === 1) {
      await world.promote(async (redis, keys) => {
        await redis.hdel(keys('rollout', key), 'gradeTurn', 'gradeUntilMs');
        await redis.hset(keys('rollout', key), 'state', 'active');
      });
      await world.recover();
    }
    return answering({ grade: { kind: 'ran', score: '0.5' } });
  };
  expect(await world.core.grade('a', 'x', ['c1'])).toMatchObject({ score: 0.5, replayed: false });
  expect(turns).toBe(2);
  expect(world.core.events.filter(({ kind }) => kind === 'verdict')).toHaveLength(1);
});
