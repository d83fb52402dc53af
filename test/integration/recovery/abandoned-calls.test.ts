import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { LinkError } from '#src/ports/sandbox-link.ts';
import { callId, rolloutId } from '#src/model/ids.ts';
import { targetOf } from '#src/claiming/target.ts';
import { secondRunOf } from '#src/calls/work.ts';
import { callDigest } from '#src/tools/arguments.ts';
import { answering } from '#test/fakes/sandbox-link.ts';
import { caller, lookUpDependency, lookUpTwice, sh } from '#test/support/core-world.ts';
import { RecoveryWorld } from './world.ts';

const minute = 60_000;

/** A rollout with one call done, and a second that was admitted by a gateway which then died. */
async function abandoned(
  tool = 'sh',
  given: Parameters<typeof RecoveryWorld.start>[0] = {},
): Promise<RecoveryWorld> {
  const world = await RecoveryWorld.start(given);
  await world.ready();
  await world.core.sh('a', 'c1', 'echo one');
  const { key } = await world.record('a');
  await world.core.state.calls.admit({
    key,
    call: callId('c2'),
    sender: 'try-1',
    tool,
    digest: digestOf(tool),
    timeoutMs: minute,
    idleMs: minute,
    budget: { toolCalls: 10, rolloutMs: minute },
    activation: null,
  });
  return world;
}

const digestOf = (tool: string) => callDigest(tool, { command: 'echo two' });

/** What the gateway had sent before it died. */
async function sent(world: RecoveryWorld, tool = 'sh', call = callId('c2')) {
  const target = targetOf(await world.record('a'));
  const action = { kind: 'exec', argv: ['echo two'] } as const;
  const request = { digest: digestOf(tool), action, timeoutMs: minute, keepBytes: 1_000 };
  return world.link.call(target, call, request, 0, new AbortController().signal);
}

const journal = async (world: RecoveryWorld) =>
  (await world.link.identity(targetOf(await world.record('a')))).calls;
const verdicts = (world: RecoveryWorld) => world.core.events.filter((event) => event.kind === 'verdict');
const settlements = (world: RecoveryWorld) =>
  world.core.events.filter((event) => event.kind === 'call_settled' && event.summary.call === 'c2');

test('a call that ended after its gateway had died is settled by the answer in the journal, once, and its rollout is graded', async () => {
  await using world = await abandoned();
  await sent(world);
  expect(await world.settleOverdue()).toEqual({ settled: 1 });
  expect(await world.settleOverdue()).toEqual({});
  expect(await world.record('a')).toMatchObject({ state: 'active', inFlight: 0, calls: 2 });
  expect(settlements(world)).toMatchObject([{ summary: { outcome: 'completed', admitted: 'yes' } }]);
  expect(await world.core.sh('a', 'c2', 'echo two')).toMatchObject({ output: 'echo two', replayed: true });
  expect(await journal(world)).toContainEqual(expect.objectContaining({ callId: 'c2', state: 'confirmed' }));
  expect(await world.core.grade('a', 'yes', ['c1', 'c2'])).toMatchObject({ score: 1 });
  expect(world.link.ran).toEqual(['c1', 'c2']);
});

test('a call that never reached its sandbox has no outcome: it costs no budget, and a repeat runs', async () => {
  await using world = await abandoned();
  expect(await world.settleOverdue()).toEqual({ withdrawn: 1 });
  expect(await world.record('a')).toMatchObject({ state: 'active', inFlight: 0, calls: 1 });
  expect(settlements(world)).toEqual([]);
  expect(await world.core.sh('a', 'c2', 'echo two')).toMatchObject({ output: 'echo two', replayed: false });
  expect((await world.record('a')).calls).toBe(2);
});

test('a call that still runs is left to its own timeout, and asked about again', async () => {
  await using world = await abandoned();
  const link = { ...boundLink(world), attach: async () => 'running' as const };
  expect(await world.settleOverdue(link)).toEqual({ left: 1 });
  expect((await world.record('a')).inFlight).toBe(1);
  await sent(world);
  expect(await world.settleOverdue()).toEqual({ settled: 1 });
});

test('a call that was sent again while its sandbox was asked is not withdrawn', async () => {
  await using world = await abandoned();
  let repeated = false;
  const attach = async () => {
    if (!repeated) {
      repeated = true;
      const { key } = await world.record('a');
      await world.core.state.calls.admit({
        key,
        call: callId('c2'),
        sender: 'try-1',
        tool: 'sh',
        digest: digestOf('sh'),
        timeoutMs: minute,
        idleMs: minute,
        budget: null,
        activation: null,
      });
    }
    throw new LinkError({ kind: 'refused', status: 404, code: 'unknown_call', message: 'no such call' });
  };
  expect(await world.settleOverdue({ ...boundLink(world), attach })).toEqual({ left: 1 });
  expect((await world.record('a')).inFlight).toBe(1);
});

test('a sandbox that cannot be asked: nobody can say whether it ran, and the verdict is written once', async () => {
  await using world = await abandoned();
  expect(await world.settleOverdue({ ...boundLink(world), attach: refusing })).toEqual({ settled: 1 });
  expect(await world.settleOverdue()).toEqual({});
  expect(await world.record('a')).toMatchObject({ discarded: { code: 'outcome_unknown' }, inFlight: 0 });
  expect(settlements(world)).toMatchObject([{ summary: { code: 'outcome_unknown', admitted: 'unknown' } }]);
  expect(verdicts(world)).toMatchObject([{ verdict: { kind: 'discard', code: 'outcome_unknown' } }]);
});

test('another life of the sandbox: lost through the one door', async () => {
  await using world = await abandoned();
  const { sandbox } = targetOf(await world.record('a'));
  world.link.start(sandbox, 'boot-other');
  expect(await world.settleOverdue()).toEqual({ lost: 1 });
  expect(await world.record('a')).toMatchObject({
    discarded: { code: 'sandbox_lost', cause: 'boot_changed' },
  });
  expect(verdicts(world)).toMatchObject([{ verdict: { code: 'sandbox_lost' } }]);
});

test('an answer that reports a failed backend, of which a probe knows, taints as it would have with its gateway', async () => {
  await using world = await abandoned('look_up');
  world.link.behaviour = () => answering({ ending: { kind: 'exited', exitCode: 75 } });
  await sent(world, 'look_up');
  await recordProbe(world, 'answered 503');
  expect(await world.settleOverdue()).toEqual({ settled: 1 });
  expect(await world.record('a')).toMatchObject({ discarded: { code: 'dependency_failed' } });
  expect(verdicts(world)).toMatchObject([{ verdict: { code: 'dependency_failed' } }]);
});

test('the same where a good probe is known: the model’s own end; where none is, a discard with a mark', async () => {
  for (const [probed, discarded] of [
    [true, null],
    [false, { code: 'dependency_failed', suspected: 'dependency' }],
  ] as const) {
    await using world = await abandoned('look_up');
    world.link.behaviour = () => answering({ ending: { kind: 'exited', exitCode: 75 } });
    await sent(world, 'look_up');
    if (probed) await recordProbe(world, null);
    expect(await world.settleOverdue()).toEqual({ settled: 1 });
    const record = await world.record('a');
    if (discarded === null) expect(record.discarded).toBeNull();
    else expect(record.discarded).toMatchObject(discarded);
  }
});

test('an idempotent call that its gateway had begun to run again is settled by its second answer', async () => {
  await using world = await abandoned('look_up', { tools: { sh, look_up: lookUpTwice } });
  world.link.behaviour = () => answering({ ending: { kind: 'exited', exitCode: 75 } });
  await sent(world, 'look_up');
  world.link.behaviour = () => answering({ stdout: 'found' });
  await sent(world, 'look_up', secondRunOf(callId('c2')));
  await recordProbe(world, null);
  expect(await world.settleOverdue()).toEqual({ settled: 1 });
  expect(settlements(world)).toMatchObject([{ summary: { outcome: 'completed', exitCode: 0 } }]);
  const states = (await journal(world)).map(({ state }) => state);
  expect(states.slice(-2)).toEqual(['confirmed', 'confirmed']);
});

/** What a gateway had seen of the backend before it died. */
async function recordProbe(world: RecoveryWorld, failed: string | null): Promise<void> {
  const { dependencies } = world.core.state;
  const { nowMs } = await dependencies.takeTurn(lookUpDependency);
  await dependencies.record(lookUpDependency, nowMs, failed);
}

test('a call whose environment nobody knows any more is settled too, as what nobody can judge', async () => {
  await using world = await abandoned();
  await sent(world);
  expect(await world.settleOverdue(world.link, false)).toEqual({ settled: 1 });
  expect(await world.record('a')).toMatchObject({ discarded: { code: 'outcome_unknown' }, inFlight: 0 });
});

async function withUploadOfADeadGateway(upload: string): Promise<RecoveryWorld> {
  const world = await RecoveryWorld.start();
  await world.ready();
  await world.core.sh('a', 'c1', 'echo one');
  const { key } = await world.record('a');
  await world.core.state.calls.admit({
    key,
    call: callId(`corral put_file ${upload}`),
    sender: 'try-1',
    tool: 'put_file',
    digest: 'put_file',
    timeoutMs: minute,
    idleMs: minute,
    budget: null,
    activation: null,
  });
  return world;
}

test('a file transfer whose gateway died holds its rollout no longer', async () => {
  await using world = await withUploadOfADeadGateway('1');
  expect(await world.settleOverdue()).toEqual({ settled: 1 });
  expect(await world.record('a')).toMatchObject({ inFlight: 0, discarded: null });
  expect(await world.core.grade('a', 'yes', ['c1'])).toMatchObject({ score: 1 });
});

test('an upload that is sent again ends the try whose gateway died in it, and the rollout can be graded', async () => {
  await using world = await withUploadOfADeadGateway('u-1');
  const upload = () =>
    world.core.wired.core.putFile(
      caller,
      { rollout: rolloutId('a'), attempt: null },
      { path: '/workspace/x', user: 'policy', form: 'file', call: callId('u-1') },
      Readable.from([Buffer.from('x')]),
    );
  await upload();
  expect((await world.record('a')).inFlight).toBe(0);
  // Also once more, after an answer that was lost.
  await upload();
  expect(await world.record('a')).toMatchObject({ inFlight: 0, discarded: null });
  expect(await world.core.grade('a', 'yes', ['c1'])).toMatchObject({ score: 1 });
});

test('a call that runs on after Redis forgot it is in flight, and settled when its gateway is gone too', async () => {
  await using world = await RecoveryWorld.start();
  await world.ready();
  await world.core.sh('a', 'c1', 'echo one');
  const end = Promise.withResolvers<void>();
  world.link.behaviour = async () => {
    await end.promise;
    return answering({ stdout: 'slow' });
  };
  const target = targetOf(await world.record('a'));
  const action = { kind: 'exec', argv: ['slow'] } as const;
  const request = { digest: 'd', action, timeoutMs: minute, keepBytes: 1_000, label: 'sh' };
  const running = world.link.call(target, 'c2', request, 0, new AbortController().signal);
  await world.forgetAll();
  await world.recover();
  expect(await world.record('a')).toMatchObject({ inFlight: 1, calls: 2 });
  end.resolve();
  await running;
  expect(await world.settleOverdue()).toEqual({ settled: 1 });
  expect(await world.record('a')).toMatchObject({ inFlight: 0, discarded: null });
});

const refusing = () => Promise.reject(new LinkError({ kind: 'not_sent', detail: 'connection refused' }));

/** The fake's methods as they are, for one of them to be replaced. */
function boundLink({ link }: RecoveryWorld) {
  return {
    attach: link.attach.bind(link),
    settled: link.settled.bind(link),
  };
}
