import { expect, test } from 'vitest';
import { createFakeClock } from '#test/fakes/clock.ts';
import { tenantId } from '../model/ids.ts';
import { FollowBudget } from './follow-budget.ts';
import { Pace } from './pace.ts';

const mebibyte = 1024 * 1024;
const pieceBytes = 64 * 1024;
const piece = {
  kind: 'output',
  stream: 'stdout',
  at: 0,
  base64: Buffer.alloc(pieceBytes).toString('base64'),
} as const;

/** Bytes that each of these followers of endless output reads in ten seconds, by tenant. */
async function readIn10s(followers: Readonly<Record<string, number>>) {
  const clock = createFakeClock();
  const budget = new FollowBudget(clock);
  const over = new AbortController();
  const read = Object.entries(followers).map(([name, count]) => ({
    name,
    bytes: Array.from({ length: count }, () => 0),
  }));
  const readers = read.flatMap(({ name, bytes }) =>
    bytes.map(async (_, index) => {
      const pace = new Pace(clock, budget, tenantId(name));
      while (!over.signal.aborted) {
        await pace.keep(piece, over.signal);
        bytes[index] = (bytes[index] ?? 0) + pieceBytes;
      }
    }),
  );
  for (let passedMs = 0; passedMs < 10_000; passedMs += 10) await clock.advance(10);
  const seen = Object.fromEntries(read.map(({ name, bytes }) => [name, [...bytes]]));
  over.abort();
  await clock.advance(1_000);
  await Promise.all(readers);
  return seen;
}

const sum = (bytes: readonly number[] = []) => bytes.reduce((total, one) => total + one, 0);

test('twenty-five endless outputs together have what a gateway gives to all, in equal parts', async () => {
  const { lab = [] } = await readIn10s({ lab: 25 });
  expect(sum(lab) / mebibyte).toBeGreaterThan(220);
  expect(sum(lab) / mebibyte).toBeLessThan(250);
  expect(Math.max(...lab)).toBeLessThanOrEqual(Math.min(...lab) + 8 * pieceBytes);
});

test('a tenant that follows one command reads it as fast as next to none', async () => {
  const alone = sum((await readIn10s({ one: 1 }))['one']);
  const next = sum((await readIn10s({ many: 25, one: 1 }))['one']);
  expect(next).toBeGreaterThan(0.9 * alone);
});

test('what a tenant read while nothing waited is not held against it', async () => {
  const clock = createFakeClock();
  const budget = new FollowBudget(clock);
  const never = new AbortController().signal;
  for (let second = 0; second < 600; second += 1) {
    await budget.pay(tenantId('early'), mebibyte, never);
    await clock.advance(1_000);
  }
  const entered: string[] = [];
  for (const tenant of ['late', 'early', 'late', 'early'])
    for (let piece = 0; piece < 100; piece += 1)
      void budget.pay(tenantId(tenant), mebibyte, never).then(() => entered.push(tenant));
  await clock.advance(5_000);
  const late = entered.filter((tenant) => tenant === 'late').length;
  expect(late / entered.length).toBeCloseTo(0.5, 1);
});

test('tenants share equally, however many commands each of them follows', async () => {
  const { many, few } = await readIn10s({ many: 40, few: 8 });
  expect(sum(many) / sum(few)).toBeCloseTo(1, 1);
});

test('a reader that leaves its turn takes nothing from the others', async () => {
  const clock = createFakeClock();
  const budget = new FollowBudget(clock);
  const [gone, stays] = [new AbortController(), new AbortController().signal];
  const lab = tenantId('lab');
  await budget.pay(lab, 100 * mebibyte, stays);
  const left = budget.pay(lab, 100 * mebibyte, gone.signal);
  let hasRead = false;
  const next = budget.pay(lab, 1, stays).then(() => (hasRead = true));
  gone.abort();
  await left;
  await clock.advance(5_000);
  expect(hasRead).toBe(true);
  await next;
});
