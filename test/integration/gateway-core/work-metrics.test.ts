import { expect, test } from 'vitest';
import { Failure } from '#src/failure/failure.ts';
import type { Judge } from '#src/ports/judge.ts';
import { answering } from '#test/fakes/sandbox-link.ts';
import { CoreWorld } from '#test/support/core-world.ts';

const toldOf = (world: CoreWorld, name: string) =>
  world.work.recorded.filter((one) => one.name === name).map(({ values }) => values);

const aTime: unknown = expect.any(Number);

test('a rollout that moves in is told once, however many first calls it has at once', async () => {
  await using world = await CoreWorld.start();
  await world.ready();
  const ids = ['call_1', 'call_2', 'call_3', 'call_4'];
  await Promise.all(ids.map((id) => world.sh('trace_1', id, id)));
  await world.sh('trace_1', 'call_5', 'later');
  expect(toldOf(world, 'obtained')).toEqual([['plain', 'warm', aTime]]);
});

test('a rollout that waited for a start is told as cold, with the time that it stood in line', async () => {
  await using world = await CoreWorld.start();
  const call = world.sh('trace_1', 'call_1', 'echo');
  await expect.poll(() => world.wired.load().waiting).toBe(1);
  const waitsSinceMs = performance.now();
  await world.ready();
  const waitedMs = performance.now() - waitsSinceMs;
  await call;
  const [[environment, launch, tookMs] = []] = toldOf(world, 'obtained');
  expect([environment, launch]).toEqual(['plain', 'cold']);
  expect(tookMs).toBeGreaterThanOrEqual(Math.floor(waitedMs));
});

test('a call’s parts are told once: what its sandbox measured, what it waited, and the rest', async () => {
  await using world = await CoreWorld.start();
  await world.ready();
  const done = answering({ stdout: 'done' });
  world.link.behaviour = () => ({ ...done, evidence: { ...done.evidence, durationMs: 7 } });
  await world.sh('trace_1', 'call_1', 'echo');
  await world.sh('trace_1', 'call_1', 'echo');
  expect(toldOf(world, 'callAnswered')).toEqual([
    ['plain', { waitedMs: aTime, commandMs: 7, overheadMs: aTime }],
  ]);
});

test('an answer that is given again is counted for its face, the first one is not', async () => {
  await using world = await CoreWorld.start();
  await world.ready();
  await world.sh('trace_1', 'call_1', 'echo');
  expect(toldOf(world, 'replayed')).toEqual([]);
  await world.sh('trace_1', 'call_1', 'echo');
  await world.grade('trace_1', 'yes', ['call_1']);
  await world.grade('trace_1', 'yes', ['call_1']);
  expect(toldOf(world, 'replayed')).toEqual([['rft'], ['rft']]);
  expect(toldOf(world, 'graded')).toEqual([['plain', aTime]]);
});

const judged = {
  kind: 'http',
  url: 'http://judge.test/',
  headers: {},
  timeoutMs: 1_000,
  retries: 0,
  onRefused: 0,
  control: '42',
} as const;

test('a judge that scores, one that refuses and one that fails are counted by what came of it', async () => {
  const answers: (() => ReturnType<Judge['score']>)[] = [
    () => Promise.resolve({ kind: 'scored', score: 0.5 }),
    () => Promise.resolve({ kind: 'refused', reason: 'no' }),
    () => Promise.reject(new Failure('grader_failed', 'the judge answered 500')),
  ];
  const judge: Judge = { score: () => answers.shift()?.() ?? Promise.reject(new Error('asked too often')) };
  await using world = await CoreWorld.start({ grader: judged }, judge);
  await world.grade('trace_1', 'yes');
  await world.grade('trace_2', 'yes');
  await expect(world.grade('trace_3', 'yes')).rejects.toMatchObject({ code: 'grader_failed' });
  const ends = toldOf(world, 'judged').map(([end]) => end);
  expect(ends.slice(0, 3)).toEqual(['ok', 'ok', 'grader_failed']);
});
