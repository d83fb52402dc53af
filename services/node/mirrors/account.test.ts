import { expect, test } from 'vitest';
import { createAccount } from './account.ts';

const bounds = { connections: 1, bytes: 100, rate: 10, burst: 3 };

test('a burst is answered at once, and what comes after it waits for its turn', () => {
  let nowMs = 0;
  const account = createAccount(bounds, () => nowMs);
  const turns = (count: number) => Array.from({ length: count }, () => account.nextTurnMs());
  expect(turns(6)).toEqual([0, 0, 0, 100, 200, 300]);
  nowMs = 10_000;
  expect(turns(4)).toEqual([0, 0, 0, 100]);
});

test('an account is spent when its bytes are taken', () => {
  const account = createAccount(bounds);
  account.take(99);
  expect(account.isSpent()).toBe(false);
  account.take(1);
  expect(account.isSpent()).toBe(true);
});
