import { expect, test } from 'vitest';
import { Failure } from '#src/failure/failure.ts';
import { createFakeClock } from '#test/fakes/clock.ts';
import { readDeadline } from './client-deadline.ts';

const read = (header: string | undefined) => readDeadline(header, createFakeClock());

test.each([
  ['2000', 1_500],
  ['15000', 14_250],
  ['30000', 29_000],
  ['600000', 599_000],
  ['600', 300],
  ['1', 1],
])('a client that waits %s ms gives its command %i ms', (header, timeoutMs) => {
  expect(read(header).times).toEqual({ timeoutMs, waitMs: Number(header), killAtOnce: true });
});

test('a client without a deadline gives its command an hour and the usual end', () => {
  expect(read(undefined).times).toEqual({ timeoutMs: 3_600_000, waitMs: 7_200_000 });
});

test.each(['0', '-1', '1e3', '12345678901', 'soon'])('a deadline of %j is refused', (header) => {
  expect(() => read(header)).toThrow(Failure);
});

test('long output is sent only while the client still waits long enough to read it', async () => {
  const clock = createFakeClock();
  const deadline = readDeadline('10000', clock);
  await clock.advance(7_000);
  expect(deadline.leavesLongOutput()).toBe(true);
  await clock.advance(1);
  expect(deadline.leavesLongOutput()).toBe(false);
  expect(read(undefined).leavesLongOutput()).toBe(true);
});
