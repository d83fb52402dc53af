import { expect, test } from 'vitest';
import { createFakeLifecycleStore } from '#test/fakes/lifecycle-store.ts';
import { createFakeLog } from '#test/fakes/log.ts';
import { createFakeMetrics } from '#test/fakes/metrics.ts';
import { fakeRollout } from '#test/fakes/rollout-record.ts';
import { Failure } from '../failure/failure.ts';
import { sandboxId } from '../model/ids.ts';
import { sandboxAddress } from '../model/rollout.ts';
import { SandboxAccount } from '../pool/sandbox-account.ts';
import { tellLosses } from './losses.ts';

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
