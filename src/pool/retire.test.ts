import { expect, test } from 'vitest';
import { fakeEnvironment, fakeTemplate } from '../../test/fakes/environment.ts';
import { createFakePoolStore } from '../../test/fakes/pool-store.ts';
import { templateDigest } from '../model/ids.ts';
import { planPools } from './plans.ts';
import { retireOld, unwantedAfterMs } from './retire.ts';

test('a wanted pool is held to its size and age; one that is no longer wanted loses only what is old', async () => {
  const pool = createFakePoolStore();
  const old = fakeEnvironment({ template: fakeTemplate({ digest: templateDigest('old') }) });
  await retireOld(pool, planPools([fakeEnvironment()], [old], new Map()));
  expect(pool.retirements).toEqual([
    { template: templateDigest('template-a'), maxAgeMs: 3_600_000, keepReady: 2 },
    { template: templateDigest('old'), maxAgeMs: unwantedAfterMs, keepReady: Number.MAX_SAFE_INTEGER },
  ]);
});
