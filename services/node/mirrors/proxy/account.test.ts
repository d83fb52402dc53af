import { expect, test } from 'vitest';
import { createAccount, createPace, usualBounds } from './account.ts';

test('a burst is answered at once, and each later request waits for its turn', () => {
  let nowMs = 0;
  const pace = createPace({ rate: 10, burst: 3 }, () => nowMs);
  const turns = (count: number) => Array.from({ length: count }, pace);
  expect(turns(6)).toEqual([0, 0, 0, 100, 200, 300]);
  nowMs = 10_000;
  expect(turns(4)).toEqual([0, 0, 0, 100]);
});

test('an account is spent when its bytes are taken', () => {
  const account = createAccount({ ...usualBounds, bytes: 100 });
  account.take(99);
  expect(account.isSpent()).toBe(false);
  account.take(1);
  expect(account.isSpent()).toBe(true);
});

test('a request above the bound waits until another is answered, and one that leaves gives up its place', async () => {
  const account = createAccount({ ...usualBounds, underWay: 1 });
  const leave = await account.enter(new AbortController().signal);
  const leaving = new AbortController();
  const first = account.enter(leaving.signal);
  const second = account.enter(new AbortController().signal);
  leaving.abort();
  await expect(first).rejects.toThrow(/abort/);
  leave();
  await expect(second).resolves.toBeTypeOf('function');
});

test('a request that waits for the pace leaves at once', async () => {
  const account = createAccount({ ...usualBounds, rate: 1, burst: 0 });
  const leaving = new AbortController();
  const waiting = account.enter(leaving.signal);
  leaving.abort();
  await expect(waiting).rejects.toThrow(/abort/);
});
