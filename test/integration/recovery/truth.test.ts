import { expect, test } from 'vitest';
import type { Json } from '#src/model/grader.ts';
import { rolloutId } from '#src/model/ids.ts';
import { answering } from '#test/fakes/sandbox-link.ts';
import { caller, plain } from '#test/support/core-world.ts';
import { gradeAsk } from '../redis/world.ts';
import { RecoveryWorld } from './world.ts';

test('a rollout whose calls are all known is graded after Redis forgot it', async () => {
  await using world = await RecoveryWorld.start();
  const sandbox = await world.ready();
  await world.core.sh('a', 'c1', 'echo');
  await world.settled(sandbox, 'c1');
  await world.core.sh('a', 'c2', 'echo');
  await world.forgetAll();
  await world.recover();
  expect(await world.core.grade('a', 'yes', ['c1', 'c2'])).toMatchObject({ score: 1 });
});

test('a taint that Redis forgot comes back: the answer that tainted is judged again, and nothing is scored', async () => {
  await using world = await RecoveryWorld.start();
  await world.ready();
  world.core.backend.state = 'answered 503';
  world.link.behaviour = () => answering({ ending: { kind: 'exited', exitCode: 75 } });
  const call = world.core.call('a', 'c1', 'look_up', { command: 'x' });
  await expect(call).rejects.toMatchObject({ code: 'dependency_failed' });
  await world.forgetAll();
  await world.recover();
  const other = world.core.gateway();
  await expect(world.core.grade('a', 'yes', ['c1'], other.core)).rejects.toMatchObject({
    code: 'dependency_failed',
  });
  expect(await world.record('a')).toMatchObject({ discarded: { code: 'dependency_failed' }, score: null });
  await other.close();
});

test('a rollout whose sandbox went while Redis was away is not scored, whatever runs after it', async () => {
  await using world = await RecoveryWorld.start();
  const lost = await world.ready();
  await world.core.sh('a', 'c1', 'echo');
  world.link.kill(lost);
  world.provider.end(lost, 'evicted');
  await world.forgetAll();
  await world.recover();
  await expect(world.core.grade('a', 'yes', ['c1'])).rejects.toMatchObject({ code: 'rollout_unknown' });
  await world.ready();
  const other = world.core.gateway();
  expect(await world.core.sh('a', 'c2', 'echo', other.core)).toMatchObject({ outcome: 'completed' });
  await expect(world.core.grade('a', 'yes', ['c1', 'c2'], other.core)).rejects.toMatchObject({
    code: 'rollout_unknown',
    evidence: { calls_named: 2, calls_unseen: 1, first_unseen: 'c1' },
  });
  await other.close();
});

test('the same where the environment reports unseen calls: after Redis forgot, none is only reported', async () => {
  await using world = await RecoveryWorld.start({ unseenCalls: 'report' });
  await world.ready();
  await world.core.sh('early', 'c1', 'echo');
  expect(await world.core.grade('early', 'yes', ['c1', 'lost'])).toMatchObject({ score: 1 });
  await world.forgetAll();
  await world.recover();
  await world.ready();
  await world.core.sh('late', 'c2', 'echo');
  await expect(world.core.grade('late', 'yes', ['c1', 'c2'])).rejects.toMatchObject({
    code: 'rollout_unknown',
  });
});

test('calls that never reached us discard a rollout for good, and the run report says so', async () => {
  await using world = await RecoveryWorld.start();
  await world.ready();
  await world.core.sh('a', 'c1', 'echo');
  const unseen = {
    code: 'rollout_unknown',
    evidence: { calls_named: 2, calls_unseen: 1, first_unseen: 'c9' },
  };
  await expect(world.core.grade('a', 'yes', ['c1', 'c9'])).rejects.toMatchObject(unseen);
  expect(await world.record('a')).toMatchObject({ discarded: { code: 'rollout_unknown' }, score: null });
  await expect(world.core.grade('a', 'yes', ['c1', 'c9'])).rejects.toMatchObject(unseen);
  const verdicts = world.core.events.filter((event) => event.kind === 'verdict');
  expect(verdicts).toMatchObject([{ verdict: { kind: 'discard', code: 'rollout_unknown' } }]);
});

test('a grade that was under way may be asked for again and is scored once', async () => {
  await using world = await RecoveryWorld.start();
  const sandbox = await world.ready();
  await world.core.sh('a', 'c1', 'echo');
  await world.settled(sandbox, 'c1');
  const { key } = await world.record('a');
  const { grades } = world.core.state;
  const begun = await grades.begin(key, gradeAsk());
  expect(begun).toMatchObject({ kind: 'run', turn: 1 });
  await world.forgetAll();
  await world.recover();
  expect(await grades.score(key, 1, 1, {})).toBeNull();
  expect(await grades.failed(key, 1, {})).toMatchObject({ turnsLeft: 3 });
  expect(await world.core.grade('a', 'yes', ['c1'])).toMatchObject({ score: 1, replayed: false });
});

test('a rollout whose sandbox was gone before Redis forgot is not opened again where a controller has seen it there', async () => {
  await using world = await RecoveryWorld.start();
  const lost = await world.ready();
  await world.core.sh('a', 'c1', 'echo');
  await world.recheck();
  world.link.kill(lost);
  world.provider.end(lost, 'evicted');
  await world.forgetAll();
  await world.recover();
  await world.ready();
  await expect(world.core.sh('a', 'c2', 'echo')).rejects.toMatchObject({ code: 'sandbox_lost' });
  await expect(world.core.grade('a', 'yes', [])).rejects.toMatchObject({ code: 'sandbox_lost' });
  expect(await world.core.sh('new', 'c1', 'echo')).toMatchObject({ output: 'echo' });
});

test('the same where another controller, which had not seen it, was quicker', async () => {
  await using world = await RecoveryWorld.start();
  const lost = await world.ready();
  await world.core.sh('a', 'c1', 'echo');
  await world.recheck();
  world.link.kill(lost);
  world.provider.end(lost, 'evicted');
  await world.forgetAll();
  const { recovery } = world.core.state;
  const intact = { ...recovery };
  recovery.markLost = async (rollouts) => {
    await intact.adopt((await intact.kept())?.redis ?? '');
    await intact.markLost(rollouts);
  };
  await world.recover();
  await world.ready();
  await expect(world.core.sh('a', 'c2', 'echo')).rejects.toMatchObject({ code: 'sandbox_lost' });
});

test('a Redis that is replaced while the one before is written back is not taken with half of it: all is written back again', async () => {
  await using world = await RecoveryWorld.start();
  await world.ready();
  const first = await world.core.sh('a', 'c1', 'echo');
  await world.forgetAll();
  const { recovery } = world.core.state;
  const intact = { ...recovery };
  let isFirst = true;
  recovery.markLost = async (rollouts) => {
    if (isFirst) await world.forgetAll();
    isFirst = false;
    await intact.markLost(rollouts);
  };
  await expect(world.recover()).rejects.toMatchObject({ code: 'recovering' });
  expect(await world.recover()).toEqual({ live: 1 });
  expect(await world.record('a')).toMatchObject({ state: 'active', epoch: first.epoch });
});

test('one whose grant had not been bound when Redis forgot has lost nothing, and is opened again', async () => {
  await using world = await RecoveryWorld.start();
  const sandbox = await world.ready();
  await world.core.open('a');
  await world.recheck();
  await world.forgetAll();
  expect(await world.recover()).toEqual({ ready: 1 });
  expect(await world.core.sh('a', 'c1', 'echo')).toMatchObject({ epoch: { sandbox } });
});

test('what a trainer wrote on its rollout comes back with it', async () => {
  await using world = await RecoveryWorld.start();
  await world.ready();
  await world.ready();
  await world.core.open('a', { tags: { step: 7, labels: ['blue'] } });
  await world.core.open('b', { tags: { step: 8, labels: [] } });
  for (const rollout of ['a', 'b']) await world.core.sh(rollout, 'c1', 'echo');
  await world.forgetAll();
  await world.recover();
  expect(await world.record('a')).toMatchObject({ tags: { step: 7, labels: ['blue'] } });
  expect((await world.record('b'))?.tags).toEqual({ step: 8, labels: [] });
});

/** A rollout with a call that ran and one whose arguments were wrong, and how it is graded by what the platform names. */
async function withRefusedCall(world: RecoveryWorld) {
  await world.ready();
  await world.core.sh('a', 'c1', 'echo');
  await world.core.call('a', 'c2', 'sh', { wrong: 'x' });
  return (...named: readonly (readonly [id: string, given: Json])[]) =>
    world.core.wired.core.grade(caller, {
      rollout: { rollout: rolloutId('a'), attempt: null },
      open: { environment: plain, item: { answer: 'yes' } },
      sample: JSON.stringify({
        output_text: 'yes',
        output_tools: named.map(([id, given]) => ({ id, function: { name: 'sh', arguments: given } })),
      }),
      waitMs: 5_000,
    });
}

const right = { command: 'echo' };
const wrong = { wrong: 'x' };

test('a call with wrong arguments ran nothing: that no sandbox knows of it does not discard its rollout', async () => {
  await using world = await RecoveryWorld.start();
  const grade = await withRefusedCall(world);
  await world.forgetAll();
  await world.recover();
  expect(await grade(['c1', right], ['c2', wrong])).toMatchObject({ score: 1 });
});

test('a call with right arguments that no sandbox knows of does', async () => {
  await using world = await RecoveryWorld.start();
  const grade = await withRefusedCall(world);
  await world.forgetAll();
  await world.recover();
  const asked = grade(['c1', right], ['c2', wrong], ['c3', right]);
  await expect(asked).rejects.toMatchObject({ code: 'rollout_unknown', evidence: { first_unseen: 'c3' } });
});

test('a call with wrong arguments that a platform answers itself is no way out of a low score', async () => {
  await using world = await RecoveryWorld.start();
  const grade = await withRefusedCall(world);
  expect(await grade(['c1', right], ['c3', wrong], ['c4', 'no JSON'])).toMatchObject({ score: 1 });
});

test('nor is it where it is the only call, and nobody here has heard of the rollout', async () => {
  await using world = await RecoveryWorld.start();
  const grade = (name: string, given: Json) =>
    world.core.wired.core.grade(caller, {
      rollout: { rollout: rolloutId('unheard'), attempt: null },
      open: { environment: plain, item: { answer: 'yes' } },
      sample: JSON.stringify({
        output_text: 'no',
        output_tools: [{ id: 'c1', function: { name, arguments: given } }],
      }),
      waitMs: 5_000,
    });
  await expect(grade('sh', right)).rejects.toMatchObject({ code: 'rollout_unknown' });
  expect(await grade('sh', wrong)).toMatchObject({ score: 0 });
  expect(await grade('made_up', right)).toMatchObject({ score: 0 });
});
