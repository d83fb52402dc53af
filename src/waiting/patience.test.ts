import { expect, test } from 'vitest';
import { createFakeClock } from '#test/fakes/clock.ts';
import { Failure } from '../failure/failure.ts';
import { Deadline } from './deadline.ts';
import { patiently, pauseMs } from './patience.ts';

function failing(code: Failure['code'], times: number) {
  let calls = 0;
  const step = async () => {
    calls += 1;
    if (calls <= times) throw new Failure(code, 'not yet');
    return calls;
  };
  return { step, calls: () => calls };
}

test('a step that a repeat may mend is tried again until it succeeds', async () => {
  const clock = createFakeClock();
  const { step } = failing('state_unavailable', 3);
  const result = patiently(clock, Deadline.in(clock, 10_000), step);
  await clock.advance(10_000);
  expect(await result).toBe(4);
});

test('a final failure leaves at once', async () => {
  const clock = createFakeClock();
  const { step, calls } = failing('sandbox_lost', 1);
  await expect(patiently(clock, Deadline.in(clock, 10_000), step)).rejects.toMatchObject({
    code: 'sandbox_lost',
  });
  expect(calls()).toBe(1);
});

test.each(['capacity_timeout', 'start_failed', 'start_timeout'] as const)(
  'a wait that ended in %s is not begun again, although the trainer may',
  async (code) => {
    const clock = createFakeClock();
    const { step, calls } = failing(code, 1);
    await expect(patiently(clock, Deadline.in(clock, 10_000), step)).rejects.toMatchObject({ code });
    expect(calls()).toBe(1);
  },
);

test('the last failure leaves when no pause fits before the deadline', async () => {
  const clock = createFakeClock();
  const { step } = failing('recovering', Number.POSITIVE_INFINITY);
  const result = expect(patiently(clock, Deadline.in(clock, 500), step)).rejects.toMatchObject({
    code: 'recovering',
  });
  await clock.advance(600);
  await result;
});

test('pauses grow from 20 ms to a second and no further', () => {
  expect([0, 1, 2, 5, 6, 60].map(pauseMs)).toEqual([20, 40, 80, 640, 1_000, 1_000]);
});
