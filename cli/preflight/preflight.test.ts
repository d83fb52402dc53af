import { expect, test } from 'vitest';
import { fakeEnvironment } from '#test/fakes/environment.ts';
import { checkPool } from './preflight.ts';

const poolOf = (max: number) => ({ minReady: 0, max, maxAgeMs: 1 });
const demands = { memoryBytes: 'memory' };

test('an environment whose rows demand amounts prints how much its pool has room for', () => {
  expect(checkPool(fakeEnvironment({ demands, pool: poolOf(8) }))).toMatchObject([
    { ok: true, detail: expect.stringContaining('more than 8 times') },
  ]);
});

test('a pool that has no room for any demand is not in order', () => {
  expect(checkPool(fakeEnvironment({ demands, pool: poolOf(1) }))).toMatchObject([
    { ok: false, detail: expect.stringContaining('raise pool.max') },
  ]);
});

test('an environment whose rows demand nothing is not checked', () => {
  expect(checkPool(fakeEnvironment({ pool: poolOf(1) }))).toEqual([]);
});
