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

test('what an address usually answers is the first word, until a day without a good answer has passed', () => {
  let nowMs = 0;
  const proven = createProven(() => nowMs);
  const [one, other] = ['http://one.example/', 'http://other.example/'];
  proven.noteUsual({ [one]: 2 });
  proven.noteUsual({ [one]: 4 });
  expect(proven.usual([one, other])).toEqual({ [one]: 2 });
  expect(proven.isProven(one)).toBe(true);
  nowMs = dayMs;
  proven.note(one);
  expect(proven.usual([one])).toEqual({});
  proven.noteUsual({ [one]: 4 });
  expect(proven.usual([one])).toEqual({ [one]: 4 });
});
