import { beforeEach, expect, test, vi } from 'vitest';
import { createFakeClock, type FakeClock } from '#test/fakes/clock.ts';
import { answering, FakeSandboxLink } from '#test/fakes/sandbox-link.ts';
import { fakeOwner, fakeRollout } from '#test/fakes/rollout-record.ts';
import { type FakeStep, FakeSetupStore } from '#test/fakes/setup-store.ts';
import { callId } from '../model/ids.ts';
import { type CallAnswer, type CallRequest, protocolVersion } from '../protocol/sandboxd/wire.ts';
import {
  digestOfEnd,
  digestOfUpload,
  keptCall,
  keptUpload,
  type ReplayDeps,
  replaySetup,
} from './replay-setup.ts';
import { targetOf } from './target.ts';

const rollout = fakeRollout({ state: 'claimed', healing: 'evicted', heals: 1 });
const target = targetOf(rollout);

let link: FakeSandboxLink;
let clock: FakeClock;
let wake: () => void;
beforeEach(async () => {
  link = new FakeSandboxLink();
  clock = createFakeClock();
  wake = () => undefined;
  link.start(target.sandbox, target.boot);
  await link.bind(target, { protocol: protocolVersion, owner: fakeOwner(), expiresInMs: 60_000 });
});

const request = (call: string): CallRequest => ({
  digest: call,
  action: { kind: 'exec', argv: ['echo', call] },
  timeoutMs: 1_000,
  keepBytes: 1_000,
});

const ran = (call: string, end: CallAnswer = answering({ stdout: call })): FakeStep => ({
  call,
  sent: keptCall(request(call)),
  digest: digestOfEnd(end) ?? '',
});

const place = { path: 'a.txt', user: 'policy', form: 'file' } as const;
const uploaded = (text: string): FakeStep => ({
  call: `corral put_file ${text}`,
  sent: keptUpload({ ...place, call: callId(`corral put_file ${text}`) }, Buffer.from(text)),
  digest: digestOfUpload({ bytes: text.length }),
});

const wakes: ReplayDeps['wakes'] = {
  on: (_, listener) => {
    wake = () => listener({ kind: 'unknown' });
    return () => undefined;
  },
};

const replayIn = (setups: FakeSetupStore) => replaySetup({ setups, link, wakes, clock }, rollout, target);
const replay = (...steps: readonly FakeStep[]) => replayIn(new FakeSetupStore(steps, rollout));

test('each step runs under its own id, in order, and makes room for the next', async () => {
  await replay(ran('s1'), uploaded('\u0000bytes'), ran('s2'));
  expect(link.ran).toEqual(['s1', 's2']);
  expect(link.told).toEqual(['s1', 's2']);
  const [bytes] = await Array.fromAsync(await link.getFile(target, { ...place, mostBytes: 100 }));
  expect(Buffer.from(bytes ?? []).toString()).toBe('\u0000bytes');
});

test.each([
  ['output', answering({ stdout: 'another' })],
  ['stderr', answering({ stdout: 's1', stderr: 'a word' })],
  ['exit code', answering({ stdout: 's1', ending: { kind: 'exited', exitCode: 1 } })],
  ['signal', answering({ stdout: 's1', ending: { kind: 'signalled', signal: 'SIGKILL' } })],
  ['time', answering({ stdout: 's1', ending: { kind: 'timed_out' } })],
])('another %s than before discards the rollout, and what comes after it does not run', async (_, end) => {
  link.behaviour = () => end;
  await expect(replay(ran('s1', answering({ stdout: 's1' })), ran('s2'))).rejects.toMatchObject({
    code: 'sandbox_lost',
  });
  expect(link.ran).toEqual(['s1']);
});

test('an upload that the sandbox does not take discards the rollout', async () => {
  link.failNext('putFile', {
    kind: 'refused',
    status: 422,
    code: 'file_error',
    message: 'no',
    errno: 'ENOSPC',
  });
  await expect(replay(uploaded('bytes'))).rejects.toMatchObject({ code: 'sandbox_lost' });
});

const reset = { kind: 'maybe_sent', detail: 'reset' } as const;

test('a connection that breaks off is tried again, and each step runs once', async () => {
  link.behaviour = ({ digest }) => {
    if (digest === 's1') link.failNext('call', reset);
    return answering({ stdout: digest });
  };
  const replaying = replay(ran('s1'), ran('s2'));
  await clock.advance(2_000);
  await replaying;
  expect(link.ran).toEqual(['s1', 's2']);
});

test('a sandbox that takes no connection for half a minute discards the rollout', async () => {
  link.kill(target.sandbox);
  const replaying = expect(replay(ran('s1'))).rejects.toMatchObject({ code: 'sandbox_lost' });
  await clock.advance(32_000);
  await replaying;
});

test('a sandbox that another gateway has given up meanwhile is left alone', async () => {
  const setups = new FakeSetupStore([ran('s1')], rollout);
  link.kill(target.sandbox);
  const replaying = replayIn(setups);
  await clock.advance(1_500);
  await setups.replay(rollout.key, rollout.generation, { step: 1, digest: 'another' });
  await clock.advance(1_500);
  await replaying;
});

test('a wake-up ends the request that is held, and the step goes on where it was', async () => {
  const { promise, resolve } = Promise.withResolvers<CallAnswer>();
  link.behaviour = () => promise;
  const replaying = replay(ran('s1'));
  await vi.waitFor(() => expect(link.ran).toEqual(['s1']));
  wake();
  resolve(answering({ stdout: 's1' }));
  await replaying;
  expect(link.ran).toEqual(['s1']);
});

test('a sandbox that refuses this gateway says nothing of the rollout', async () => {
  link.failNext('call', { kind: 'refused', status: 401, code: 'unauthorized', message: 'another key' });
  await expect(replay(ran('s1'))).rejects.toMatchObject({ trouble: { status: 401 } });
});

test('a step that another gateway has replayed and confirmed is not compared again', async () => {
  const setups = new FakeSetupStore([ran('s1'), ran('s2')], rollout);
  link.behaviour = async (sent) => {
    if (sent.digest === 's2')
      await setups.replay(rollout.key, rollout.generation, { step: 2, digest: ran('s2').digest });
    return answering({ stdout: sent.digest });
  };
  link.failNext('call', { kind: 'refused', status: 410, code: 'answer_confirmed', message: 'gone' });
  await replayIn(setups);
  expect(link.ran).toEqual(['s1', 's2']);
});

const evidence = answering({}).evidence;
test.each([
  ['was cut', { ...answering({}), stderr: { head: 'a', tail: 'b', totalBytes: 10, cutBytes: 8 } }],
  [
    'left processes in the background',
    { ...answering({}), evidence: { ...evidence, backgroundProcesses: 1 } },
  ],
  ['has processes that escaped', { ...answering({}), evidence: { ...evidence, escapedProcesses: 1 } }],
  ['had a process killed for memory', answering({ outOfMemoryKills: 1 })],
  ['timed out', answering({ ending: { kind: 'timed_out' } })],
  ['printed bytes that are no text', answering({ stdout: 'a\uFFFDb' })],
])('a call that %s says too little of the state that it left', (_, end) => {
  expect(digestOfEnd(end)).toBeNull();
});
