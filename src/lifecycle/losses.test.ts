import { expect, test } from 'vitest';
import { createFakeLifecycleStore } from '#test/fakes/lifecycle-store.ts';
import { createFakeLog } from '#test/fakes/log.ts';
import { createFakeMetrics } from '#test/fakes/metrics.ts';
import { fakeRollout } from '#test/fakes/rollout-record.ts';
import { Failure } from '../failure/failure.ts';
import { sandboxId } from '../model/ids.ts';
import { sandboxAddress } from '../model/rollout.ts';
import { createLosses } from './losses.ts';

const sandbox = sandboxId('sandbox-1');
const gone = { kind: 'gone', sandbox, cause: 'evicted', evidence: { node: 'n1' } } as const;

function world() {
  const lifecycle = createFakeLifecycleStore();
  const metrics = createFakeMetrics();
  const losses = createLosses({ lifecycle, metrics, log: createFakeLog() });
  return { lifecycle, metrics, losses };
}

test('an end is told once, with its cause and evidence', async () => {
  const { lifecycle, losses } = world();
  losses.apply(gone);
  expect(await losses.tell()).toBe(1);
  expect(await losses.tell()).toBe(0);
  expect(lifecycle.losses).toEqual([{ sandbox, cause: 'evicted', evidence: { node: 'n1' } }]);
});

test('an end that fleet state could not be told is told the next time', async () => {
  const { lifecycle, losses } = world();
  losses.apply(gone);
  lifecycle.answers.nextError = new Failure('state_unavailable', 'Redis is away');
  await expect(losses.tell()).rejects.toThrow('Redis is away');
  await losses.tell();
  expect(lifecycle.losses).toHaveLength(1);
});

test('an end that the watch missed is seen in its next list', async () => {
  const { lifecycle, losses } = world();
  losses.apply({ kind: 'running', sandbox, address: sandboxAddress('unix:/run/1.sock') });
  losses.apply({ kind: 'listed', sandboxes: [] });
  await losses.tell();
  expect(lifecycle.losses).toMatchObject([{ sandbox, cause: 'deleted' }]);
});

test('only the controller whose word was news counts the loss', async () => {
  const { lifecycle, metrics, losses } = world();
  losses.apply(gone);
  await losses.tell();
  expect(metrics.recorded).toEqual([]);
  lifecycle.answers.effect = { kind: 'tainted', rollout: fakeRollout() };
  losses.apply(gone);
  await losses.tell();
  expect(metrics.recorded).toEqual([{ name: 'sandboxLost', values: ['evicted', 'tainted'] }]);
});
