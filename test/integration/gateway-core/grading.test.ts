import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { Failure } from '#src/failure/failure.ts';
import { callId, rolloutId } from '#src/model/ids.ts';
import { fakeEnvironment } from '#test/fakes/environment.ts';
import { answering } from '#test/fakes/sandbox-link.ts';
import { caller, CoreWorld } from '#test/support/core-world.ts';
import { repeatsAreOver } from '#test/support/repeats-are-over.ts';
import { wholeRun } from '#src/reports/run-report.ts';

const verifier = {
  kind: 'command',
  argv: ['verify'],
  files: { 'check.py': 'pass' },
  timeoutMs: 1_000,
  onExit: 0,
  onTimeout: 'discard',
  onOutOfMemory: 'discard',
  onBroken: 'discard',
} as const;

test('a scorable rollout gets its score, a repeat gets the stored one, and no call comes after it', async () => {
  await using world = await CoreWorld.start();
  await world.ready();
  await world.sh('trace_1', 'call_1', 'echo');
  expect(await world.grade('trace_1', 'yes', ['call_1'])).toMatchObject({ score: 1, replayed: false });
  expect(await world.grade('trace_1', 'no', ['call_1'])).toMatchObject({ score: 1, replayed: true });
  await expect(world.sh('trace_1', 'call_2', 'echo')).rejects.toMatchObject({ code: 'rollout_closed' });
});

test('long after its end, with its line alone left, any gateway tells the same score, and of a call that it ran', async () => {
  await using world = await CoreWorld.start();
  await world.ready();
  await world.sh('trace_1', 'call_1', 'echo');
  await world.grade('trace_1', 'yes', ['call_1']);
  const redis = new Redis(world.redis.socket);
  await repeatsAreOver(redis);
  redis.disconnect();
  for (const { core } of [world.wired, world.gateway()]) {
    expect(await world.grade('trace_1', 'no', ['call_1', 'never'], core)).toMatchObject({ score: 1 });
    const again = world.sh('trace_1', 'call_1', 'echo', core);
    await expect(again).rejects.toMatchObject({ code: 'answer_expired', admitted: 'yes' });
    await expect(world.sh('trace_1', 'call_2', 'echo', core)).rejects.toMatchObject({
      code: 'rollout_closed',
      admitted: 'no',
    });
    const ref = { rollout: rolloutId('trace_1'), attempt: null };
    const attached = core.attach(caller, ref, callId('call_1'), 1_000);
    await expect(attached).rejects.toMatchObject({ code: 'answer_expired' });
    await expect(core.attach(caller, ref, callId('never'), 1_000)).rejects.toMatchObject({
      code: 'unknown_call',
    });
    expect(await core.close(caller, ref, 'finished', 0)).toMatchObject({
      record: { state: 'closed', closedBy: 'scored', score: 1, calls: 1 },
      verdict: { kind: 'scorable' },
      calls: [],
    });
  }
  expect(world.events.filter(({ kind }) => kind === 'verdict')).toHaveLength(1);
});

test('a rollout that never called a tool is graded without any sandbox, where its grader needs none', async () => {
  await using world = await CoreWorld.start();
  const free = await world.ready();
  expect(await world.grade('trace_new', 'no')).toMatchObject({ score: 0 });
  expect(await world.grade('trace_new', 'yes')).toMatchObject({ score: 0, replayed: true });
  expect(await world.sandboxesHeld()).toBe(0);
  expect(await world.sh('trace_2', 'call_1', 'echo')).toMatchObject({ epoch: { sandbox: free } });
  const report = await wholeRun(world.state.reports, caller.tenant, caller.run);
  const group = { item: 'item-1', wave: 1, n: 1, scored: 1 };
  expect(report).toMatchObject({ rollouts: 2, scored: 1, open: 1, groups: [group, { wave: 2 }] });
  expect(world.events.filter(({ kind }) => kind === 'verdict')).toHaveLength(1);
});

test('a rollout without calls gets a sandbox for a grader that has a part which runs in one', async () => {
  const text = fakeEnvironment().grader;
  const grader = { kind: 'gate', all: [text], grader: verifier } as const;
  await using world = await CoreWorld.start({ grader });
  await world.ready();
  expect(await world.grade('trace_new', 'no')).toMatchObject({ score: 0 });
  expect(world.link.binds).toEqual(['sb-1']);
});

test('a rollout that stands in line is graded where it stands, if its grader needs no sandbox', async () => {
  await using world = await CoreWorld.start();
  await world.open('trace_1', { item: { id: 'item-1', answer: 'yes' } });
  expect(await world.grade('trace_1', 'yes')).toMatchObject({ score: 1 });
  const [counts] = await world.state.pool.counts([world.environment.template.digest]);
  expect(counts).toMatchObject({ waiting: 0, held: 0 });
});

test('a rollout that had calls by the platform’s count and is unknown here is never scored', async () => {
  await using world = await CoreWorld.start();
  await expect(world.grade('trace_new', 'yes', ['call_1'])).rejects.toMatchObject({
    code: 'rollout_unknown',
  });
});

test('a grader that names another environment than the rollout was opened with is told so, and scores nothing', async () => {
  await using world = await CoreWorld.start();
  await world.ready();
  await world.sh('trace_1', 'call_1', 'echo');
  const grade = world.wired.core.grade(caller, {
    rollout: { rollout: rolloutId('trace_1'), attempt: null },
    open: { environment: { name: 'other', version: null }, item: null },
    sample: '{}',
    waitMs: world.waitMs,
  });
  await expect(grade).rejects.toMatchObject({ code: 'environment_mismatch' });
});

test('a sandbox that is gone before fleet state has heard of it vetoes the score', async () => {
  await using world = await CoreWorld.start();
  const sandbox = await world.ready();
  await world.sh('trace_1', 'call_1', 'echo');
  world.link.start(sandbox, 'boot-new');
  await expect(world.grade('trace_1', 'yes')).rejects.toMatchObject({ code: 'sandbox_lost' });
});

test('a text grader does not wait for a sandbox that was gone before anything ran in it', async () => {
  await using world = await CoreWorld.start();
  const first = await world.ready();
  await world.open('trace_1');
  world.link.start(first, 'boot-of-another-life');
  expect(await world.grade('trace_1', 'yes')).toMatchObject({ score: 1 });
});

test('a command grader is one turn of its own kind with its files and the item on stdin, and its score counts', async () => {
  await using world = await CoreWorld.start({ grader: verifier });
  await world.ready();
  await world.sh('trace_1', 'call_1', 'echo');
  world.link.behaviour = ({ action }) => {
    expect(action).toMatchObject({ kind: 'grade', turn: 1, argv: ['verify'], files: { 'check.py': 'pass' } });
    expect(action).toMatchObject({ stdin: expect.stringContaining('"answer":"yes"') as string });
    return answering({ grade: { kind: 'ran', score: '0.75\n' } });
  };
  expect(await world.grade('trace_1', 'anything')).toMatchObject({ score: 0.75 });
});

/** All of a grader's bad endings are worth 0. */
const allZero = { ...verifier, onTimeout: 0, onOutOfMemory: 0, onBroken: 0 } as const;

test.each([
  { kind: 'ran', score: 'splendid' },
  { kind: 'ran', score: null },
  { kind: 'folder_failed', errno: 'SIGKILL', message: 'out of memory' },
  { kind: 'folder_failed', errno: 'ENOMEM', message: 'out of memory' },
] as const)(
  'a turn that the policy spoiled, by the sandbox’s own account (%j), is worth what the environment says, and marked',
  async (grade) => {
    await using world = await CoreWorld.start({ grader: allZero });
    await world.ready();
    await world.sh('trace_1', 'call_1', 'echo');
    world.link.behaviour = () => answering({ grade });
    expect(await world.grade('trace_1', 'x')).toMatchObject({ score: 0 });
    expect(world.events.at(-1)).toMatchObject({ kind: 'verdict', suspected: 'command' });
  },
);

const noRoom = { kind: 'folder_failed', errno: 'ENOMEM', message: 'out of memory' } as const;
const neverRan = { kind: 'not_started', errno: 'ECANCELED', message: 'the grader was not run' } as const;
const notPlaced = (errno = 'ENOMEM') => answering({ grade: { ...noRoom, errno }, ending: neverRan });
const unreadable = answering({ grade: noRoom });
const graded = answering({ grade: { kind: 'ran', score: '0.75' } });
const notStarted = answering({
  grade: { kind: 'ran', score: null },
  ending: { kind: 'not_started', errno: 'EAGAIN', message: 'no room for a process' },
});

test.each([
  ['works', [notPlaced(), graded], 0.75, 2],
  ['starts', [notStarted, graded], 0.75, 2],
  ['finds no room either', [notPlaced(), notStarted, graded], 0, 2],
  ['fails otherwise, which says nothing', [notPlaced(), notPlaced('ETIMEDOUT'), graded], 0, 2],
  ['would run the grader again', [unreadable, graded], 0, 1],
  ['runs the grader, and finds no room for its score', [notPlaced(), unreadable, graded], 0, 2],
] as const)(
  'a grader without room in its sandbox, and a second try that %s',
  async (_what, answers, score, tries) => {
    await using world = await CoreWorld.start({ grader: allZero });
    await world.ready();
    await world.sh('trace_1', 'call_1', 'echo');
    const left = [...answers];
    const asked = new Set<string>();
    world.link.behaviour = ({ digest }) => {
      asked.add(digest);
      return left.shift() ?? unreadable;
    };
    expect(await world.grade('trace_1', 'x')).toMatchObject({ score });
    expect(asked.size).toBe(tries);
  },
);

test('a rollout whose sandbox is lost before the second try of its grader is discarded', async () => {
  await using world = await CoreWorld.start({ grader: allZero });
  const sandbox = await world.ready();
  await world.sh('trace_1', 'call_1', 'echo');
  world.link.behaviour = () => {
    world.link.start(sandbox, 'boot-new');
    return notPlaced();
  };
  await expect(world.grade('trace_1', 'x')).rejects.toMatchObject({ code: 'sandbox_lost' });
});

test('a grader without room is not tried again if a whole grading would not fit into what is left of its turn', async () => {
  const limits = { ...fakeEnvironment().limits, gradeMs: 60_000 };
  await using world = await CoreWorld.start({ grader: allZero, limits });
  await world.ready();
  await world.sh('trace_1', 'call_1', 'echo');
  let runs = 0;
  world.link.behaviour = () => {
    runs += 1;
    return notPlaced();
  };
  expect(await world.grade('trace_1', 'x')).toMatchObject({ score: 0 });
  expect(runs).toBe(1);
});

const notRun = { kind: 'ran', score: null } as const;

test.each([
  ['processes that could not be killed', { grade: { kind: 'survivors', count: 2 } }],
  ...['ETIMEDOUT', 'LOST', 'ENOSPC', 'SIGSTOP', 'EIO'].map(
    (errno) =>
      [
        `a folder that fails with ${errno}`,
        { grade: { kind: 'folder_failed', errno, message: 'why' } },
      ] as const,
  ),
  [
    'a grader that does not start',
    { ending: { kind: 'not_started', errno: 'LOST', message: 'why' }, grade: notRun },
  ],
] as const)(
  '%s: the machine may have caused it, so it is a marked discard and never a score',
  async (_what, told) => {
    await using world = await CoreWorld.start({ grader: allZero });
    await world.ready();
    await world.sh('trace_1', 'call_1', 'echo');
    world.link.behaviour = () => answering(told);
    for (let turn = 1; turn <= 3; turn += 1)
      await expect(world.grade('trace_1', 'x')).rejects.toMatchObject({ code: 'grader_failed' });
    const verdict = { kind: 'discard', code: 'grader_failed', suspected: 'command' };
    expect(world.events.at(-1)).toMatchObject({ kind: 'verdict', verdict });
  },
);

test('a command grader that exits badly is worth what the environment says, marked as suspected', async () => {
  await using world = await CoreWorld.start({ grader: verifier });
  await world.ready();
  await world.sh('trace_1', 'call_1', 'echo');
  const ending = { kind: 'exited', exitCode: 3 } as const;
  world.link.behaviour = () => answering({ ending, grade: { kind: 'ran', score: '1' } });
  expect(await world.grade('trace_1', 'x')).toMatchObject({ score: 0 });
  expect(world.events.at(-1)).toMatchObject({ kind: 'verdict', suspected: 'command', score: 0 });
});

test('after its grader has failed for good, any gateway refuses its calls, also the answered ones, by that code', async () => {
  await using world = await CoreWorld.start({ grader: verifier });
  await world.ready();
  await world.sh('trace_1', 'call_1', 'echo');
  world.link.behaviour = () =>
    answering({ grade: { kind: 'folder_failed', errno: 'EROFS', message: 'read-only' } });
  for (let turn = 1; turn <= 3; turn += 1)
    await expect(world.grade('trace_1', 'x')).rejects.toMatchObject({ code: 'grader_failed' });
  for (const { core } of [world.wired, world.gateway()]) {
    const barred = { code: 'grader_failed', retry: 'no' };
    for (const call of ['call_1', 'call_2'])
      await expect(world.sh('trace_1', call, 'echo', core)).rejects.toMatchObject(barred);
    await expect(world.grade('trace_1', 'x', ['call_1'], core)).rejects.toMatchObject(barred);
  }
});

test('a command grader whose folder cannot be used is grader_failed three times, and then for good', async () => {
  await using world = await CoreWorld.start({ grader: verifier });
  await world.ready();
  await world.sh('trace_1', 'call_1', 'echo');
  const grade = { kind: 'folder_failed', errno: 'EROFS', message: 'read-only' } as const;
  world.link.behaviour = () => answering({ grade });
  for (let turn = 1; turn <= 4; turn += 1) {
    await expect(world.grade('trace_1', 'x')).rejects.toMatchObject({ code: 'grader_failed' });
  }
  expect(world.events.at(-1)).toMatchObject({
    kind: 'verdict',
    verdict: { kind: 'discard', code: 'grader_failed' },
  });
});

/** The rollout's one call has run; the grader gives `0.75` when it runs, and counts how often it did. */
async function withVerifier(world: CoreWorld) {
  const sandbox = await world.ready();
  await world.sh('trace_1', 'call_1', 'echo');
  world.link.behaviour = () => answering({ grade: { kind: 'ran', score: '0.75' } });
  return { sandbox, runs: () => world.link.ran.filter((call) => call.startsWith('corral grade')).length };
}

const reset = { kind: 'maybe_sent', detail: 'connection reset' } as const;

test('a connection that breaks again and again costs the grader no turn, and it runs once', async () => {
  await using world = await CoreWorld.start({ grader: verifier });
  const { runs } = await withVerifier(world);
  for (let times = 0; times < 4; times += 1) world.link.failNext('call', reset);
  expect(await world.grade('trace_1', 'x')).toMatchObject({ score: 0.75 });
  expect(runs()).toBe(1);
  expect(world.events.at(-1)).toMatchObject({ kind: 'verdict', evidence: { turn: 1 } });
});

test('a connection that breaks while the grader runs is made again and attaches: one run, its score', async () => {
  await using world = await CoreWorld.start({ grader: verifier });
  const { sandbox, runs } = await withVerifier(world);
  const grades = world.link.behaviour;
  const begun = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  world.link.behaviour = async (request) => {
    begun.resolve();
    await go.promise;
    return grades(request);
  };
  const graded = world.grade('trace_1', 'x');
  await begun.promise;
  world.link.cut(sandbox);
  go.resolve();
  expect(await graded).toMatchObject({ score: 0.75 });
  expect(runs()).toBe(1);
});

test('a sandbox that is lost while its grader runs ends the turn with the loss, and no grader is to blame', async () => {
  await using world = await CoreWorld.start({ grader: verifier });
  const { sandbox } = await withVerifier(world);
  const begun = Promise.withResolvers<void>();
  world.link.behaviour = () => {
    begun.resolve();
    return new Promise(() => undefined);
  };
  const graded = expect(world.grade('trace_1', 'x')).rejects.toMatchObject({ code: 'sandbox_lost' });
  await begun.promise;
  world.link.kill(sandbox);
  world.link.cut(sandbox);
  await world.state.lifecycle.lose(sandbox, null, 'node_lost', {});
  await graded;
  const view = await world.wired.core.view(caller, { rollout: rolloutId('trace_1'), attempt: null });
  expect(view.verdict).toEqual({ kind: 'discard', code: 'sandbox_lost', cause: 'node_lost' });
});

test('a rollout that is deleted while its grader runs answers that it is closed, at once', async () => {
  await using world = await CoreWorld.start({ grader: verifier });
  const { sandbox } = await withVerifier(world);
  const begun = Promise.withResolvers<void>();
  world.link.behaviour = () => {
    begun.resolve();
    return new Promise(() => undefined);
  };
  const graded = expect(world.grade('trace_1', 'x')).rejects.toMatchObject({ code: 'rollout_closed' });
  await begun.promise;
  await world.wired.core.close(caller, { rollout: rolloutId('trace_1'), attempt: null }, 'deleted', 0);
  world.link.kill(sandbox);
  world.link.cut(sandbox);
  await graded;
});

test('a grade whose failure cannot be written down while Redis stands still is held until it is back', async () => {
  const judge = {
    score: async () => {
      world.redis.freeze();
      setTimeout(() => world.redis.thaw(), 3_000);
      throw new Failure('grader_failed', 'the judge answered 500');
    },
  };
  const grader = {
    kind: 'http',
    url: 'http://judge',
    headers: {},
    timeoutMs: 1_000,
    retries: 0,
    onRefused: 0,
    control: 'none',
  } as const;
  await using world = await CoreWorld.start({ grader }, judge);
  await world.ready();
  await world.sh('trace_1', 'call_1', 'echo');
  await expect(world.grade('trace_1', 'x')).rejects.toMatchObject({ code: 'grader_failed' });
});

test('a sandbox that does not answer lets a grade go at its deadline, not seconds later', async () => {
  await using world = await CoreWorld.start();
  const sandbox = await world.ready();
  await world.sh('trace_1', 'call_1', 'echo');
  world.link.kill(sandbox);
  world.waitMs = 700;
  const startedMs = performance.now();
  await expect(world.grade('trace_1', 'yes')).rejects.toMatchObject({ code: 'sandboxd_unreachable' });
  expect(performance.now() - startedMs).toBeLessThan(1_500);
});

test('a judge that fails is grader_failed, never a score of 0, and may be asked again', async () => {
  const scores: (number | Failure)[] = [new Failure('grader_failed', 'the judge answered 500'), 0.5];
  const judge = {
    score: async () => {
      const next = scores.shift() ?? 0;
      if (next instanceof Failure) throw next;
      return { kind: 'scored' as const, score: next };
    },
  };
  const grader = {
    kind: 'http',
    url: 'http://judge',
    headers: {},
    timeoutMs: 1_000,
    retries: 0,
    onRefused: 0,
    control: 'none',
  } as const;
  await using world = await CoreWorld.start({ grader }, judge);
  await world.ready();
  await world.sh('trace_1', 'call_1', 'echo');
  await expect(world.grade('trace_1', 'x')).rejects.toMatchObject({ code: 'grader_failed' });
  expect(await world.grade('trace_1', 'x')).toMatchObject({ score: 0.5 });
});
