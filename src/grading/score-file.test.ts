import { expect, test } from 'vitest';
import { parseScore } from './score-file.ts';

test.each([
  ['0.5\n', 0.5],
  ['1', 1],
  ['-2e-1', -0.2],
])('a score file with %j is a score', (text, score) => {
  expect(parseScore(text)).toBe(score);
});

test.each(['', 'NaN', 'Infinity', '0.5 points', '{"score":1}'])(
  'a score file with %j is the failure of the grader, not a score',
  (text) => {
    expect(() => parseScore(text)).toThrow(expect.objectContaining({ code: 'grader_failed' }));
  },
);
