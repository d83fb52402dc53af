import { expect, test } from 'vitest';
import { createFakeLifecycleStore } from '#test/fakes/lifecycle-store.ts';
import { createFakeLog } from '#test/fakes/log.ts';
import { createFakeMetrics } from '#test/fakes/metrics.ts';
import { fakeRollout } from '#test/fakes/rollout-record.ts';
import { runId, tenantId } from '../model/ids.ts';
import { productionTimings } from '../model/timings.ts';
import { releaseLapsedRuns, expireRollouts, takeBackGrants } from './expiry.ts';

function world() {
  const lifecycle = createFakeLifecycleStore();
  const metrics = createFakeMetrics();
  const counted = (name: string) =>
    metrics.recorded.filter((one) => one.name === name).map((one) => one.values[0]);
  return {
    lifecycle,
    counted,
    tools: { lifecycle, metrics, timings: productionTimings, log: createFakeLog() },
  };
}

test('everything that is due expires in one pass, however much it is', async () => {
  const { lifecycle, counted, tools } = world();
  lifecycle.answers.expired = Array.from({ length: 250 }, () => fakeRollout({ state: 'expired' }));
  await expireRollouts(tools);
  expect(lifecycle.answers.expired).toEqual([]);
  expect(counted('rolloutsExpired')).toEqual([100, 100, 50]);
});

test('grants that were taken back are counted', async () => {
  const { lifecycle, counted, tools } = world();
  lifecycle.answers.takenBack = 3;
  await takeBackGrants(tools);
  expect(counted('grantsTakenBack')).toEqual([3]);
});

test('native rollouts of a lapsed run are released step by step until none is left', async () => {
  const { lifecycle, tools } = world();
  lifecycle.answers.lapsed = [{ tenant: tenantId('tenant-1'), run: runId('run-1') }];
  lifecycle.answers.leftInRun = 250;
  await releaseLapsedRuns(tools);
  expect(lifecycle.answers.leftInRun).toBe(0);
  expect(lifecycle.releasedRuns).toEqual(['run-1', 'run-1', 'run-1']);
});
