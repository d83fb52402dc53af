import { expect, test } from 'vitest';
import { createFakePoolStore } from '#test/fakes/pool-store.ts';
import { sandboxId } from '../model/ids.ts';
import { SandboxAccount } from '../pool/sandbox-account.ts';
import { withdrawLeaving } from './leaving.ts';

const [first, second] = [sandboxId('sandbox-1'), sandboxId('sandbox-2')];
const leaves = (sandbox = first) => ({ kind: 'leaving', sandbox, why: 'its node is not ready' }) as const;

test('each sandbox that leaves is taken out of the pool once', async () => {
  const pool = createFakePoolStore();
  const account = new SandboxAccount();
  account.apply(leaves());
  account.apply(leaves(second));
  expect(await withdrawLeaving(pool, account)).toBe(2);
  expect(await withdrawLeaving(pool, account)).toBe(0);
  expect(pool.withdrawn).toEqual([first, second]);
});

test('what fleet state did not answer for is taken out the next time, and what is gone meanwhile is not asked for', async () => {
  const pool = createFakePoolStore();
  let away = true;
  const account = new SandboxAccount();
  const withdraw: typeof pool.withdraw = (...args) =>
    away ? Promise.reject(new Error('away')) : pool.withdraw(...args);
  account.apply(leaves());
  account.apply(leaves(second));
  await expect(withdrawLeaving({ withdraw }, account)).rejects.toThrow('away');
  away = false;
  account.apply({ kind: 'gone', sandbox: first, cause: 'node_drained', evidence: {} });
  expect(await withdrawLeaving({ withdraw }, account)).toBe(1);
  expect(pool.withdrawn).toEqual([second]);
});
