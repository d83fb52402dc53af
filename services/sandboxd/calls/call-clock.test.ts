import { expect, test } from 'vitest';
import { clockAtStart } from './call-clock.ts';

const minute = 60_000;
const call = { timeoutMs: minute, maxPauseMs: 4 * minute };
const unbounded = { rolloutMs: Infinity, lifeMs: Infinity };

test.each([
  ['as long as its gateway allows', call, unbounded, 4 * minute],
  ['not at all, if its gateway says nothing', { timeoutMs: minute }, unbounded, 0],
  ['as long as its rollout has time', call, { rolloutMs: 2 * minute, lifeMs: Infinity }, 2 * minute],
  [
    'so that it ends with what its tool may run beyond the time of its rollout',
    { timeoutMs: 10 * minute, overtimeMs: minute, maxPauseMs: 40 * minute },
    { rolloutMs: 10 * minute, lifeMs: Infinity },
    minute,
  ],
  [
    'for half of what the life of its sandbox leaves',
    call,
    { rolloutMs: Infinity, lifeMs: 5 * minute },
    2 * minute,
  ],
  [
    'not at all, if its sandbox ends before its timeout',
    call,
    { rolloutMs: Infinity, lifeMs: minute / 2 },
    0,
  ],
])('the clock of a call may pause %s', (_, request, left, maxPauseMs) => {
  expect(clockAtStart(request, left)?.maxPauseMs).toBe(maxPauseMs);
});

test.each([1, minute / 2, minute, 10 * minute])(
  'with %i ms of its rollout left, a call and its pauses end no later than one timeout after that time',
  (rolloutMs) => {
    const clock = clockAtStart(call, { rolloutMs, lifeMs: Infinity });
    expect((clock?.timeoutMs ?? NaN) + (clock?.maxPauseMs ?? NaN)).toBeLessThanOrEqual(rolloutMs + minute);
  },
);

test('a call does not start after the time of its rollout', () => {
  expect(clockAtStart(call, { rolloutMs: 0, lifeMs: Infinity })).toBeNull();
});

test('after the time of its rollout a call runs no longer than its tool would', () => {
  const request = { timeoutMs: 10 * minute, overtimeMs: minute };
  expect(clockAtStart(request, { rolloutMs: 1, lifeMs: Infinity })?.timeoutMs).toBe(minute + 1);
});
