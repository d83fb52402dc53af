import { expect, test } from 'vitest';
import { failures, readPlan, summary } from './plan.ts';

test('arguments name the number of runs and the files', () => {
  expect(readPlan(['--times', '20', 'src/a', 'test/b'])).toEqual({ times: 20, files: ['src/a', 'test/b'] });
  expect(readPlan([])).toEqual({ times: 5, files: [] });
});

test.each(['0', '-1', '1.5', 'often'])('--times %s says how to call it', (times) => {
  expect(() => readPlan([`--times=${times}`])).toThrow('usage:');
});

const good = { exitCode: 0, failedFiles: [] };

test('the summary names each file that ever failed, the worst first', () => {
  const runs = [
    good,
    { exitCode: 1, failedFiles: ['a', 'b'] },
    { exitCode: 1, failedFiles: ['b'] },
    { exitCode: 1, failedFiles: [] },
  ];
  expect([...failures(runs)]).toEqual([
    ['b', 2],
    ['a', 1],
    ['(outside every file)', 1],
  ]);
  expect(summary(runs).join('\n')).toContain('2 of 4  b');
});

test('runs without a failure say how many they were', () => {
  expect(summary([good, good])).toEqual(['no file failed in 2 runs']);
});
