import { Redis } from 'ioredis';
import { describe, expect, test, vi } from 'vitest';
import { keysOf } from '#src/adapters/redis/keys.ts';
import { Failure } from '#src/failure/failure.ts';
import type { Grader } from '#src/model/grader.ts';
import { callId, rolloutId } from '#src/model/ids.ts';
import type { Judge, JudgeRequest } from '#src/ports/judge.ts';
import type { CallRequest } from '#src/protocol/sandboxd/wire.ts';
import type { CallStore } from '#src/ports/fleet/calls.ts';
import { fakeEnvironment } from '#test/fakes/environment.ts';
import { answering } from '#test/fakes/sandbox-link.ts';
import { caller, CoreWorld } from '#test/support/core-world.ts';

const worth = { onExit: 0, onTimeout: 0, onOutOfMemory: 0, onBroken: 0 } as const;
const verifier: Grader = {
  kind: 'command',
  argv: ['verify', 'CORRAL_ROLLOUT'],
  files: {},
  timeoutMs: 1_000,
  ...worth,
  readsRollout: true,
};
const ran = { kind: 'ran', score: '0.75', toldRollout: true } as const;

/** Calls print `out of COMMAND`; the grader gives 0.75. Returns what the last grader was told. */
function listening(world: CoreWorld) {
  const told: unknown[] = [];
  world.link.behaviour = ({ action }) => {
    if (action.kind === 'grade') {
      told.push(JSON.parse(action.rollout ?? 'null'));
      return answering({ grade: ran });
    }
    return answering({ stdout: `out of ${commandOf(action)}` });
  };
  return () => told.at(-1);
}

const commandOf = (action: CallRequest['action']) => (action.kind === 'exec' ? action.argv.at(-1) : '');

/** What a Redis does that failed over to a copy of before, or that was emptied and has heard of the calls from their sandboxes. */
async function forgetTexts(world: CoreWorld): Promise<void> {
  const redis = new Redis(world.redis.socket);
  const names = await redis.keys(keysOf('test')('transcript', '*'));
  expect(await redis.del(names)).toBe(1);
  redis.disconnect();
}

const away = () => Promise.reject(new Failure('state_unavailable', 'Redis is away'));

/** A gateway whose fleet state answers so when it is asked for a transcript. */
function withTranscript(world: CoreWorld, transcript: CallStore['transcript']) {
  Object.assign(world.state.calls, { transcript });
  return world.gateway().core;
}

describe('a grader that looks at the whole rollout', () => {
  test('is told the sample as it came, the last text and every call, refused ones too, from both of two gateways', async () => {
    await using world = await CoreWorld.start({ grader: verifier });
    const told = listening(world);
    await world.ready();
    await world.sh('trace_1', 'call_1', 'echo');
    await world.sh('trace_1', 'call_1', 'echo');
    await world.call('trace_1', 'call_2', 'sh', { wrong: '"}],"calls":[' }, world.gateway().core);
    await world.sh('trace_1', 'call_3', 'false', world.gateway().core);
    expect(await world.grade('trace_1', 'done', ['call_1'])).toMatchObject({ score: 0.75 });
    expect(told()).toMatchObject({
      rollout: 'trace_1',
      output_text: 'done',
      sample: { output_text: 'done', output_tools: [{ id: 'call_1' }] },
      truncated: false,
      calls: [
        { id: 'call_1', tool: 'sh', arguments: { command: 'echo' }, output: 'out of echo', exit_code: 0 },
        { id: 'call_2', arguments: { wrong: '"}],"calls":[' }, outcome: 'refused', code: 'bad_arguments' },
        { id: 'call_3', arguments: { command: 'false' }, output: 'out of false' },
      ],
    });
  });

  test('is told what the trainer ran by itself, too, as exec', async () => {
    await using world = await CoreWorld.start({ grader: verifier });
    const told = listening(world);
    await world.ready();
    await world.open('trace_1', { item: { id: 'item-1' } });
    const asked = { call: callId('c1'), argv: ['make', 'ready'], timeoutMs: null, waitMs: world.waitMs };
    const ref = { rollout: rolloutId('trace_1'), attempt: null };
    await world.wired.core.exec({ ...caller, face: 'native' }, { rollout: ref, ...asked });
    await world.wired.core.grade(
      { ...caller, face: 'native' },
      { rollout: ref, open: null, sample: '{}', waitMs: 9_000 },
    );
    expect(told()).toMatchObject({
      output_text: null,
      calls: [{ id: 'c1', tool: 'exec', arguments: { argv: ['make', 'ready'] }, output: 'out of ready' }],
    });
  });

  test('is told that a long story was cut, and of huge and broken arguments as much as is kept', async () => {
    await using world = await CoreWorld.start({ grader: verifier });
    const told = listening(world);
    await world.ready();
    await world.sh('trace_1', 'call_1', `\0\ud800${'x'.repeat(900_000)}`);
    await world.grade('trace_1', 'done');
    expect(told()).toMatchObject({
      truncated: true,
      missing: { arguments: 1, outputs: 0 },
      calls: [{ arguments: null, arguments_bytes: expect.any(Number) as number, truncated: true }],
    });
  });

  test('is nobody’s score where its sandboxd is of a version that cannot show it the rollout', async () => {
    await using world = await CoreWorld.start({ grader: verifier });
    await world.ready();
    await world.sh('trace_1', 'call_1', 'echo');
    world.link.behaviour = () =>
      answering({ ending: { kind: 'exited', exitCode: 1 }, grade: { kind: 'ran', score: null } });
    await expect(world.grade('trace_1', 'x')).rejects.toMatchObject({ code: 'grader_failed' });
  });

  test('is not run, and gives no score, where fleet state has forgotten what calls said', async () => {
    await using world = await CoreWorld.start({ grader: verifier });
    const told = listening(world);
    await world.ready();
    await world.sh('trace_1', 'call_1', 'echo');
    await forgetTexts(world);
    for (let turn = 1; turn <= 3; turn += 1)
      await expect(world.grade('trace_1', 'x')).rejects.toMatchObject({ code: 'grader_failed' });
    expect(told()).toBeUndefined();
    expect(world.events.at(-1)).toMatchObject({
      verdict: { kind: 'discard', code: 'grader_failed' },
      suspected: null,
    });
  });

  test('is not run by half a story while fleet state cannot tell its calls: the request is held, and graded when it can', async () => {
    await using world = await CoreWorld.start({
      grader: verifier,
      limits: { ...fakeEnvironment().limits, gradeMs: 2_000 },
    });
    listening(world);
    await world.ready();
    await world.sh('trace_1', 'call_1', 'echo');
    const store = { ...world.state.calls };
    const core = withTranscript(world, away);
    world.waitMs = 2_300;
    const held = await world.grade('trace_1', 'x', [], core).catch((thrown: unknown) => thrown);
    expect(['state_unavailable', 'still_running']).toContain((held as Failure).code);
    world.waitMs = 20_000;
    expect(world.link.ran).toEqual(['call_1']);
    let asked = 0;
    const later = withTranscript(world, (key) => ((asked += 1) < 3 ? away() : store.transcript(key)));
    // The turn that could not read ends by its own time, which whoever asks again may find used up.
    const graded = await vi.waitFor(() => world.grade('trace_1', 'x', [], later), { timeout: 15_000 });
    expect(graded).toMatchObject({ score: 0.75 });
  });
});

test('a judge is told the calls where it asks for them, and in its control none, because they may be what it refuses', async () => {
  const asked: JudgeRequest[] = [];
  const judge: Judge = {
    score: async (request) => {
      asked.push(request);
      return { kind: 'scored', score: 0.5 };
    },
  };
  const http = {
    kind: 'http',
    url: 'http://judge',
    headers: {},
    timeoutMs: 1_000,
    retries: 0,
    onRefused: 0,
  } as const;
  await using world = await CoreWorld.start({ grader: { ...http, control: 'none', calls: true } }, judge);
  await world.ready();
  await world.sh('trace_1', 'call_1', 'echo');
  await world.grade('trace_1', 'done');
  const [{ body, control } = { body: [], control: [] }] = asked;
  const call = { id: 'call_1', arguments: { command: 'echo' }, output: 'echo' };
  expect(JSON.parse(body.join(''))).toMatchObject({
    trace_id: 'trace_1',
    item: { id: 'item-1' },
    calls: [call],
    truncated: false,
  });
  expect(JSON.parse(control.join(''))).toMatchObject({ calls: [], truncated: false });
});

test('calls are composed with other graders, and of those that look at none nothing is kept', async () => {
  const opened = {
    kind: 'calls',
    asks: 'opened',
    reference: 'item.answer',
    tools: [{ tool: 'sh', argument: 'command' }],
  } as const;
  const text = {
    kind: 'text',
    answer: 'output_text',
    reference: 'item.answer',
    match: 'exact',
    tolerance: 0,
    partialWithin: 0,
  } as const;
  const parts = [
    { weight: 1, grader: opened },
    { weight: 3, grader: text },
  ];
  await using world = await CoreWorld.start({ grader: { kind: 'weighted', parts } });
  await world.ready();
  await world.sh('trace_1', 'call_1', 'yes');
  expect(await world.grade('trace_1', 'no')).toMatchObject({ score: 0.25 });
  await using other = await CoreWorld.start({ grader: text });
  await other.ready();
  const { view } = await other.open('trace_1');
  await other.sh('trace_1', 'call_1', 'yes');
  expect(await other.state.calls.transcript(view.record.key)).toMatchObject([
    { arguments: null, output: null },
  ]);
});

test('the event log is told why a score is what it is, with the grader’s last words; the trainer is told no reference', async () => {
  await using world = await CoreWorld.start({ grader: { ...verifier, onExit: 0 } });
  await world.ready();
  await world.sh('trace_1', 'call_1', 'echo');
  world.link.behaviour = () => answering({ stderr: 'expected yes, got no', grade: ran });
  const grade = await world.grade('trace_1', 'no');
  expect(JSON.stringify(grade)).not.toContain('yes');
  expect(world.events.at(-1)).toMatchObject({
    kind: 'verdict',
    score: 0.75,
    why: {
      itemId: 'item-1',
      item: '{"id":"item-1","answer":"yes"}',
      answer: { output_text: 'no' },
      parts: [{ part: 'command', score: 0.75, reason: 'by its score file' }],
      stderr: 'expected yes, got no',
    },
  });
});

test('a rollout that its environment discards has its reason too, with the grader’s last words', async () => {
  await using world = await CoreWorld.start({ grader: { ...verifier, onExit: 'discard' } });
  await world.ready();
  await world.sh('trace_1', 'call_1', 'echo');
  const ended = { kind: 'exited', exitCode: 3 } as const;
  world.link.behaviour = () => answering({ stderr: 'no such table', grade: ran, ending: ended });
  for (const _turn of [1, 2, 3])
    await expect(world.grade('trace_1', 'no')).rejects.toThrow('discards this ending');
  expect(world.events.at(-1)).toMatchObject({
    kind: 'verdict',
    verdict: { kind: 'discard', code: 'grader_failed' },
    score: null,
    why: {
      itemId: 'item-1',
      answer: { output_text: 'no' },
      parts: [{ part: 'command', score: null, reason: 'exit code 3: no such table' }],
      stderr: 'no such table',
    },
  });
});

test('so has one whose calls never reached us', async () => {
  await using world = await CoreWorld.start();
  await world.ready();
  await world.sh('trace_1', 'call_1', 'echo');
  await expect(world.grade('trace_1', 'yes', ['call_1', 'call_lost'])).rejects.toMatchObject({
    code: 'rollout_unknown',
  });
  expect(world.events.at(-1)).toMatchObject({
    verdict: { kind: 'discard', code: 'rollout_unknown' },
    why: {
      answer: { output_text: 'yes' },
      parts: [{ score: null, reason: expect.stringContaining('1 calls') as string }],
    },
  });
});
