import { expect, test } from 'vitest';
import { createFakeLifecycleStore } from '#test/fakes/lifecycle-store.ts';
import { createFakeLog } from '#test/fakes/log.ts';
import { createFakeMetrics } from '#test/fakes/metrics.ts';
import { fakeRollout } from '#test/fakes/rollout-record.ts';
import { Failure } from '../failure/failure.ts';
import { sandboxId } from '../model/ids.ts';
import { sandboxAddress } from '../model/rollout.ts';
import { SandboxAccount } from '../pool/sandbox-account.ts';
import { tellLosses, checkDoubts } from './losses.ts';
import { createFakeClock } from '#test/fakes/clock.ts';
import { productionTimings } from '../model/timings.ts';
import { FakeSandboxLink } from '#test/fakes/sandbox-link.ts';

const sandbox = sandboxId('sandbox-1');
const gone = { kind: 'gone', sandbox, cause: 'evicted', evidence: { node: 'n1' } } as const;

function world() {
  const lifecycle = createFakeLifecycleStore();
  const metrics = createFakeMetrics();
  const account = new SandboxAccount();
  const tell = () => tellLosses({ lifecycle, metrics, log: createFakeLog() }, account);
  return { lifecycle, metrics, account, tell };
}

test('an end is told once, with its cause and evidence', async () => {
  const { lifecycle, account, tell } = world();
  account.apply(gone);
  expect(await tell()).toBe(1);
  expect(await tell()).toBe(0);
  expect(lifecycle.losses).toEqual([{ sandbox, cause: 'evicted', evidence: { node: 'n1' } }]);
});

test('an end that fleet state could not be told is told the next time', async () => {
  const { lifecycle, account, tell } = world();
  account.apply(gone);
  lifecycle.answers.nextError = new Failure('state_unavailable', 'Redis is away');
  await expect(tell()).rejects.toThrow('Redis is away');
  await tell();
  expect(lifecycle.losses).toHaveLength(1);
});

test('an end that the watch missed is seen in its next list', async () => {
  const { lifecycle, account, tell } = world();
  account.apply({ kind: 'running', sandbox, address: sandboxAddress('unix:/run/1.sock') });
  account.apply({ kind: 'listed', sandboxes: [] });
  await tell();
  expect(lifecycle.losses).toMatchObject([{ sandbox, cause: 'deleted' }]);
});

test('only the controller whose word was news counts the loss', async () => {
  const { lifecycle, metrics, account, tell } = world();
  account.apply(gone);
  await tell();
  expect(metrics.recorded).toEqual([]);
  lifecycle.answers.effect = { kind: 'tainted', rollout: fakeRollout() };
  account.apply(gone);
  await tell();
  expect(metrics.recorded).toEqual([{ name: 'sandboxLost', values: ['evicted', 'tainted'] }]);
});

const address = sandboxAddress('http://10.0.0.7:8911');
const evidence = { node: 'node-1' };
const doubted = { kind: 'doubted', sandbox, address, cause: 'node_lost', evidence } as const;
const never = new AbortController().signal;

function doubtedWorld() {
  const clock = createFakeClock();
  const link = new FakeSandboxLink();
  const lifecycle = createFakeLifecycleStore();
  const metrics = createFakeMetrics();
  const account = new SandboxAccount();
  const check = () =>
    checkDoubts(
      { clock, link, lifecycle, metrics, timings: productionTimings, log: createFakeLog() },
      account,
      never,
    );
  const checkFor = async (seconds: number) => {
    for (let second = 0; second < seconds; second += 1) {
      await check();
      await clock.advance(1_000);
    }
    return check();
  };
  return { link, lifecycle, metrics, account, checkFor };
}

test('a doubted sandbox that answers nobody for ten seconds is lost, with the provider’s cause', async () => {
  const { account, lifecycle, checkFor } = doubtedWorld();
  account.apply(doubted);
  await checkFor(9);
  expect(lifecycle.losses).toEqual([]);
  expect(await checkFor(1)).toBe(1);
  expect(lifecycle.losses).toMatchObject([{ sandbox, cause: 'node_lost', evidence }]);
  expect(await checkFor(20)).toBe(0);
});

test('one that answers is alive, whatever its node says', async () => {
  const { account, lifecycle, link, checkFor } = doubtedWorld();
  link.start(sandbox, 'boot-1');
  account.apply(doubted);
  await checkFor(60);
  expect(lifecycle.losses).toEqual([]);
});

test('an answer in between begins the ten seconds again', async () => {
  const { account, lifecycle, link, checkFor } = doubtedWorld();
  account.apply(doubted);
  await checkFor(8);
  link.start(sandbox, 'boot-1');
  await checkFor(1);
  link.kill(sandbox);
  await checkFor(8);
  expect(lifecycle.losses).toEqual([]);
});

test('a refusal is an answer, and another sandbox at the address is none', async () => {
  const { account, lifecycle, link, checkFor } = doubtedWorld();
  account.apply(doubted);
  const refused = { kind: 'refused', status: 500, code: 'internal', message: 'no' } as const;
  for (let time = 0; time < 12; time += 1) link.failNext('identity', refused);
  await checkFor(11);
  expect(lifecycle.losses).toEqual([]);
  for (let time = 0; time < 12; time += 1) link.failNext('identity', { kind: 'other_sandbox' });
  await checkFor(11);
  expect(lifecycle.losses).toHaveLength(1);
});

test('a doubt that is over, or an end that is known, is asked about no more', async () => {
  const { account, lifecycle, checkFor } = doubtedWorld();
  account.apply(doubted);
  await checkFor(5);
  account.apply({ kind: 'trusted', sandbox });
  await checkFor(20);
  account.apply(doubted);
  account.apply({ kind: 'gone', sandbox, cause: 'evicted', evidence: {} });
  await checkFor(20);
  expect(lifecycle.losses).toEqual([]);
});

test('a loss that another controller has told already is not counted again', async () => {
  const { account, lifecycle, metrics, checkFor } = doubtedWorld();
  lifecycle.answers.effect = { kind: 'none' };
  account.apply(doubted);
  expect(await checkFor(10)).toBe(1);
  expect(metrics.recorded).toEqual([]);
});
