import { beforeEach, expect, test } from 'vitest';
import { answering, FakeSandboxLink } from '#test/fakes/sandbox-link.ts';
import { fakeOwner, fakeRollout } from '#test/fakes/rollout-record.ts';
import { type FakeStep, FakeSetupStore } from '#test/fakes/setup-store.ts';
import { callId } from '../model/ids.ts';
import { type CallAnswer, type CallRequest, protocolVersion } from '../protocol/sandboxd/wire.ts';
import { digestOfEnd, digestOfUpload, keptCall, keptUpload, replaySetup } from './replay-setup.ts';
import { targetOf } from './target.ts';

const rollout = fakeRollout({ state: 'claimed', healing: 'evicted', heals: 1 });
const target = targetOf(rollout);

let link: FakeSandboxLink;
beforeEach(async () => {
  link = new FakeSandboxLink();
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

const replay = (...steps: readonly FakeStep[]) =>
  replaySetup({ setups: new FakeSetupStore(steps, rollout), link }, rollout, target);

test('each step runs under its own id, in order, and makes room for the next', async () => {
  await replay(ran('s1'), uploaded('\u0000bytes'), ran('s2'));
  expect(link.ran).toEqual(['s1', 's2']);
  expect(link.confirmed).toEqual([['s1'], ['s2']]);
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

test('a sandbox that breaks off says nothing of the rollout, and a second try goes on where the first was', async () => {
  const setups = new FakeSetupStore([ran('s1'), ran('s2')], rollout);
  const again = () => replaySetup({ setups, link }, rollout, target);
  link.behaviour = ({ digest }) => {
    link.failNext('confirm', { kind: 'maybe_sent', detail: 'reset' });
    link.failNext('call', { kind: 'maybe_sent', detail: 'reset' });
    return answering({ stdout: digest });
  };
  await expect(again()).rejects.toMatchObject({ trouble: { kind: 'maybe_sent' } });
  await again();
  expect(link.ran).toEqual(['s1', 's2']);
});

test('a step that another gateway has replayed and confirmed is not compared again', async () => {
  const setups = new FakeSetupStore([ran('s1'), ran('s2')], rollout);
  link.behaviour = async (sent) => {
    if (sent.digest === 's2')
      await setups.replay(rollout.key, rollout.generation, { step: 2, digest: ran('s2').digest });
    return answering({ stdout: sent.digest });
  };
  link.failNext('call', { kind: 'refused', status: 410, code: 'answer_confirmed', message: 'gone' });
  await replaySetup({ setups, link }, rollout, target);
  expect(link.ran).toEqual(['s1', 's2']);
});
