import { expect, test } from 'vitest';
import { scoreIn } from './run-command-grader.ts';

test.each([
  ['0.5\n', 0.5],
  ['1', 1],
  ['-2e-1', -0.2],
])('a score file with %j is a score', (text, score) => {
  expect(scoreIn(text)).toBe(score);
});

test.each(['', ' \n', 'NaN', 'Infinity', '1e999', '0.5 points', '{"score":1}', `0.${'1'.repeat(300)}`])(
  'a score file with %j is no score',
  (text) => {
    expect(scoreIn(text)).toBeNull();
  },
);
