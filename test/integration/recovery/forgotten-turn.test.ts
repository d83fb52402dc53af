import { expect, test } from 'vitest';
import { Failure } from '#src/failure/failure.ts';
import type { Judge, Judged } from '#src/ports/judge.ts';
import { answering } from '#test/fakes/sandbox-link.ts';
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

const judged = {
  kind: 'http',
  url: 'http://judge',
  headers: {},
  control: 'none',
  timeoutMs: 1_000,
  retries: 0,
  onRefused: 0,
} as const;

/** While a judge thinks about its first request, Redis is emptied, and made the fleet's again. */
async function judgedWhileRedisIsEmptied(
  answer: () => Promise<Judged>,
  lost?: (world: RecoveryWorld) => Promise<void>,
) {
  let asked = 0;
  const judge: Judge = {
    score: async () => {
      asked += 1;
      if (asked > 1) return { kind: 'scored', score: 0.5 };
      await world.forgetAll();
      await lost?.(world);
      await world.recover();
      return answer();
    },
  };
  const world = await RecoveryWorld.start({ grader: judged }, {}, judge);
  const verdicts = () => world.core.events.filter((event) => event.kind === 'verdict');
  return { world, verdicts, asked: () => asked };
}

const scored = () => Promise.resolve({ kind: 'scored', score: 1 } as const);

test('a rollout without a sandbox that an emptied Redis has forgotten while it was graded is graded again inside', async () => {
  const { world, verdicts, asked } = await judgedWhileRedisIsEmptied(scored);
  await using _ = world;
  expect(await world.core.grade('a', 'x')).toMatchObject({ score: 0.5, replayed: false });
  expect(asked()).toBe(2);
  expect(verdicts()).toMatchObject([{ verdict: { kind: 'scorable' }, score: 0.5 }]);
  expect(await world.core.grade('a', 'x')).toMatchObject({ score: 0.5, replayed: true });
});

test('a judge that fails for a rollout that was forgotten meanwhile discards nothing: it is asked again inside', async () => {
  const { world, verdicts, asked } = await judgedWhileRedisIsEmptied(() =>
    Promise.reject(new Failure('grader_failed', 'the judge answered 500')),
  );
  await using _ = world;
  expect(await world.core.grade('a', 'x')).toMatchObject({ score: 0.5, replayed: false });
  expect(asked()).toBe(2);
  expect(verdicts()).toMatchObject([{ verdict: { kind: 'scorable' }, score: 0.5 }]);
});

test('a rollout that was forgotten together with its sandbox while it was graded is not scored for what is left of it', async () => {
  const { world, verdicts } = await judgedWhileRedisIsEmptied(scored, async ({ link, provider }) => {
    link.kill(sandbox);
    await provider.destroy(sandbox);
  });
  await using _ = world;
  const sandbox = await world.ready();
  await world.core.sh('a', 'c1', 'echo');
  await expect(world.core.grade('a', 'x', ['c1'])).rejects.toMatchObject({ code: 'rollout_unknown' });
  expect(verdicts()).toMatchObject([{ verdict: { kind: 'discard', code: 'rollout_unknown' } }]);
});
