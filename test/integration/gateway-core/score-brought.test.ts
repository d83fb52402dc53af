import { expect, test } from 'vitest';
import { wholeRun } from '#src/reports/run-report.ts';
import { callId, rolloutId } from '#src/model/ids.ts';
import { caller, CoreWorld } from '#test/support/core-world.ts';

const trainer = { ...caller, face: 'native' } as const;
const ref = { rollout: rolloutId('trace_1'), attempt: null };
const own = { grader: { kind: 'none' } } as const;

/** A rollout of a trainer that grades by itself, with one command behind it. */
async function worked(world: CoreWorld) {
  const sandbox = await world.ready();
  await world.open('trace_1');
  await exec(world, 'call_1');
  return sandbox;
}

const exec = (world: CoreWorld, call: string) =>
  world.wired.core.exec(trainer, {
    rollout: ref,
    call: callId(call),
    argv: ['echo', 'x'],
    timeoutMs: 30_000,
    waitMs: world.waitMs,
  });

const finish = (world: CoreWorld, score: number) =>
  world.wired.core.finish(trainer, ref, score, world.waitMs);

test('a score brought at the end closes the rollout and stands in the report; the same again changes nothing', async () => {
  await using world = await CoreWorld.start(own);
  await worked(world);
  const closed = {
    record: { state: 'closed', closedBy: 'finished', score: -2.5 },
    verdict: { kind: 'scorable' },
  };
  expect(await finish(world, -2.5)).toMatchObject(closed);
  expect(await finish(world, -2.5)).toMatchObject(closed);
  const report = await wholeRun(world.state.reports, caller.tenant, caller.run);
  expect(report).toMatchObject({
    rollouts: 1,
    scored: 1,
    open: 0,
    groups: [{ n: 1, scored: 1, mean: -2.5 }],
  });
  expect(world.events.filter(({ kind }) => kind === 'verdict')).toMatchObject([
    {
      why: {
        itemId: null,
        answer: {},
        parts: [{ part: 'none', score: -2.5, reason: 'brought by the trainer' }],
      },
    },
  ]);
});

test('another score for a rollout that has one is a conflict, and the first stands', async () => {
  await using world = await CoreWorld.start(own);
  await worked(world);
  await finish(world, 1);
  await expect(finish(world, 0)).rejects.toMatchObject({
    code: 'score_conflict',
    evidence: { stored: 1, brought: 0 },
  });
  expect((await world.wired.core.view(trainer, ref)).record.score).toBe(1);
});

test('two scores brought at once: one is stored, whoever brought the other is told', async () => {
  await using world = await CoreWorld.start(own);
  await worked(world);
  const ended = await Promise.allSettled([finish(world, 1), finish(world, 0)]);
  expect(ended.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  expect(ended.find(({ status }) => status === 'rejected')).toMatchObject({
    reason: { code: 'score_conflict' },
  });
});

test('a rollout that was finished without a score takes none later', async () => {
  await using world = await CoreWorld.start(own);
  await worked(world);
  await world.wired.core.close(trainer, ref, 'finished', 0);
  await expect(finish(world, 1)).rejects.toMatchObject({ code: 'rollout_closed' });
  expect((await world.wired.core.view(trainer, ref)).record.score).toBeNull();
});

test('a rollout that lost its sandbox takes no score, also where only the look at the end finds that out', async () => {
  await using world = await CoreWorld.start(own);
  const sandbox = await worked(world);
  world.link.start(sandbox, 'boot-of-another-life');
  await expect(finish(world, 1)).rejects.toMatchObject({ code: 'sandbox_lost' });
  await expect(finish(world, 0)).rejects.toMatchObject({ code: 'sandbox_lost' });
  expect(await world.wired.core.view(trainer, ref)).toMatchObject({
    record: { score: null },
    verdict: { kind: 'discard', code: 'sandbox_lost' },
  });
});

test('a command that still runs is stopped by the score, not waited for', async () => {
  await using world = await CoreWorld.start(own);
  await worked(world);
  const begun = Promise.withResolvers<void>();
  world.link.behaviour = () => {
    begun.resolve();
    return new Promise(() => undefined);
  };
  const running = exec(world, 'call_2');
  await begun.promise;
  expect(await finish(world, 1)).toMatchObject({ record: { score: 1, closedBy: 'finished' } });
  expect(await running).toMatchObject({ outcome: 'cancelled' });
});

test('who wrote the environment decides whose score counts: the other is refused', async () => {
  await using graded = await CoreWorld.start();
  await worked(graded);
  await expect(finish(graded, 1)).rejects.toMatchObject({ code: 'invalid_request' });
  await using ungraded = await CoreWorld.start(own);
  await worked(ungraded);
  await expect(ungraded.grade('trace_1', 'yes')).rejects.toMatchObject({ code: 'invalid_request' });
});
