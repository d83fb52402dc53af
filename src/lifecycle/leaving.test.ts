import { expect, test } from 'vitest';
import { createFakePoolStore } from '#test/fakes/pool-store.ts';
import { sandboxId } from '../model/ids.ts';
import { createLeaving } from './leaving.ts';

const [first, second] = [sandboxId('sandbox-1'), sandboxId('sandbox-2')];
const leaves = (sandbox = first) => ({ kind: 'leaving', sandbox, why: 'its node is not ready' }) as const;

test('each sandbox that leaves is taken out of the pool once', async () => {
  const pool = createFakePoolStore();
  const leaving = createLeaving(pool);
  leaving.apply(leaves());
  leaving.apply(leaves(second));
  expect(await leaving.withdraw()).toBe(2);
  expect(await leaving.withdraw()).toBe(0);
  expect(pool.withdrawn).toEqual([first, second]);
});

test('what fleet state did not answer for is taken out the next time, and what is gone meanwhile is not asked for', async () => {
  const pool = createFakePoolStore();
  let away = true;
  const leaving = createLeaving({
    withdraw: (...args) => (away ? Promise.reject(new Error('away')) : pool.withdraw(...args)),
  });
  leaving.apply(leaves());
  leaving.apply(leaves(second));
  await expect(leaving.withdraw()).rejects.toThrow('away');
  away = false;
  leaving.apply({ kind: 'gone', sandbox: first, cause: 'node_drained', evidence: {} });
  expect(await leaving.withdraw()).toBe(1);
  expect(pool.withdrawn).toEqual([second]);
});
