import { expect, test } from 'vitest';
import { createProven } from './proven.ts';

const dayMs = 24 * 3_600_000;

test('a mirror is proven for a day after each good answer, and not before the first', () => {
  let nowMs = 0;
  const proven = createProven(() => nowMs);
  expect(proven.isProven('http://mirror.example/')).toBe(false);
  proven.note('http://mirror.example/');
  nowMs = dayMs - 1;
  expect(proven.isProven('http://mirror.example/')).toBe(true);
  proven.note('http://mirror.example/');
  nowMs += dayMs;
  expect(proven.isProven('http://mirror.example/')).toBe(false);
});

test('with more mirrors than are kept the oldest one is forgotten, also if it answered again before', () => {
  const proven = createProven(() => 0);
  proven.note('oldest');
  proven.note('again');
  for (let count = 0; count < 998; count += 1) proven.note(`mirror ${count}`);
  proven.note('oldest');
  proven.note('one more');
  expect(['oldest', 'again', 'one more'].map((each) => proven.isProven(each))).toEqual([true, false, true]);
});
