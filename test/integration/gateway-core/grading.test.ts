import { expect, test } from 'vitest';
import { Failure } from '../../../src/failure/failure.ts';
import { rolloutId } from '../../../src/model/ids.ts';
import { answering } from '../../fakes/sandbox-link.ts';
import { caller, CoreWorld } from '../../support/core-world.ts';

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

test('a rollout that never called a tool is graded', async () => {
  await using world = await CoreWorld.start();
  await world.ready();
  expect(await world.grade('trace_new', 'no')).toMatchObject({ score: 0 });
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
    sample: {},
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

test('a command grader runs as its own user after the policy is quiet, and its score file is the score', async () => {
  await using world = await CoreWorld.start({ grader: verifier });
  const sandbox = await world.ready();
  await world.sh('trace_1', 'call_1', 'echo');
  world.link.behaviour = async ({ action }) => {
    if (action.kind !== 'exec') throw new Error('the grader is a command');
    const path = action.env?.['CORRAL_SCORE_FILE'] ?? '';
    expect(action.user).toBe('grader');
    expect(action.stdin).toContain('"answer":"yes"');
    const target = { sandbox, address: 'unix:/fake', boot: 'boot-1' } as never;
    await world.link.putFile(target, path, new Blob(['0.75\n']).stream());
    return answering({});
  };
  expect(await world.grade('trace_1', 'anything')).toMatchObject({ score: 0.75 });
});

test('a command grader that exits badly is worth what the environment says, marked as suspected', async () => {
  await using world = await CoreWorld.start({ grader: verifier });
  await world.ready();
  await world.sh('trace_1', 'call_1', 'echo');
  world.link.behaviour = () => answering({ ending: { kind: 'exited', exitCode: 3 } });
  expect(await world.grade('trace_1', 'x')).toMatchObject({ score: 0 });
  expect(world.events.at(-1)).toMatchObject({ kind: 'verdict', suspected: 'command', score: 0 });
});

test('a command grader that ends well without a score is grader_failed three times, and then for good', async () => {
  await using world = await CoreWorld.start({ grader: verifier });
  await world.ready();
  await world.sh('trace_1', 'call_1', 'echo');
  for (let turn = 1; turn <= 4; turn += 1) {
    await expect(world.grade('trace_1', 'x')).rejects.toMatchObject({ code: 'grader_failed' });
  }
  expect(world.events.at(-1)).toMatchObject({
    kind: 'verdict',
    verdict: { kind: 'discard', code: 'grader_failed' },
  });
});

test('a judge that fails is grader_failed, never a score of 0, and may be asked again', async () => {
  const scores: (number | Failure)[] = [new Failure('grader_failed', 'the judge answered 500'), 0.5];
  const judge = {
    score: async () => {
      const next = scores.shift() ?? 0;
      if (next instanceof Failure) throw next;
      return next;
    },
  };
  const grader = { kind: 'http', url: 'http://judge', headers: {}, timeoutMs: 1_000, retries: 0 } as const;
  await using world = await CoreWorld.start({ grader }, judge);
  await world.ready();
  await world.sh('trace_1', 'call_1', 'echo');
  await expect(world.grade('trace_1', 'x')).rejects.toMatchObject({ code: 'grader_failed' });
  expect(await world.grade('trace_1', 'x')).toMatchObject({ score: 0.5 });
});
