import { expect, test } from 'vitest';
import { type TurnLimits, TurnTime } from './turn-time.ts';

const minute = 60_000;
const limits: TurnLimits = { timeoutMs: 10 * minute, maxPauseMs: 0, aroundMs: 55_000 };

/** A turn whose clock a test moves. */
function turn(changes: Partial<TurnLimits> = {}) {
  let nowMs = 0;
  const time = new TurnTime({ ...limits, ...changes }, () => nowMs);
  return { time, at: (ms: number) => (nowMs = ms) };
}

test('placing leaves the end of the turn its time, and less after a slow kill', () => {
  const { time, at } = turn();
  expect(time.placingMs()).toBe(45_000);
  at(5_000);
  expect(time.placingMs()).toBe(40_000);
});

test('reading the score of a quick grader has the time that the grader did not need', () => {
  const { time, at } = turn();
  at(2 * minute);
  expect(time.collectingMs()).toBe(minute);
});

test('after a grader that needed all of its time and pauses, the score has what is left of the turn', () => {
  const { time, at } = turn({ maxPauseMs: 5 * minute });
  at(15 * minute + 40_000);
  expect(time.collectingMs()).toBe(15_000);
  at(20 * minute);
  expect(time.collectingMs()).toBe(1);
});

test('without a word of the gateway each step has a minute', () => {
  const { time, at } = turn({ aroundMs: null });
  at(20 * minute);
  expect([time.placingMs(), time.collectingMs()]).toEqual([minute, minute]);
});
