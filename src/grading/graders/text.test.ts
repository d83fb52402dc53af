import { describe, expect, test } from 'vitest';
import type { Json } from '#src/model/grader.ts';
import { gradeByText } from './text.ts';

type Options = {
  readonly match: 'exact' | 'normalised' | 'numeric';
  readonly tolerance?: number;
  readonly partialWithin?: number;
};

const scoreOf = (
  answer: Json,
  reference: Json,
  { match, tolerance = 0, partialWithin = tolerance }: Options,
) => {
  const paths = { answer: 'output_text', reference: 'item.answer' };
  const grader = { kind: 'text', ...paths, match, tolerance, partialWithin } as const;
  return gradeByText(grader, { sample: { output_text: answer }, item: { answer: reference } }).score;
};

describe('exact', () => {
  test.each([
    ['Paris', 'Paris', 1],
    [' Paris\n', 'Paris', 1],
    ['paris', 'Paris', 0],
  ])('%j for %j scores %d', (answer, reference, score) => {
    expect(scoreOf(answer, reference, { match: 'exact' })).toBe(score);
  });
});

describe('normalised', () => {
  test.each([
    ['The Eiffel Tower!', 'eiffel   tower', 1],
    ['“Hamlet”', 'hamlet', 1],
    ['１２', '12', 1],
    ['then', 'n', 0],
    ['-5', '5', 0],
    ['5%', '5', 0],
    ['!', '?', 0],
    ['C++', 'C', 0],
  ])('%j for %j scores %d', (answer, reference, score) => {
    expect(scoreOf(answer, reference, { match: 'normalised' })).toBe(score);
  });

  test('an answer many times as long as the reference is not it, whatever its signs unfold to', () => {
    expect(scoreOf(`Paris${'!'.repeat(10_000)}`, 'Paris', { match: 'normalised' })).toBe(1);
    expect(scoreOf(`Paris${'!'.repeat(11_000)}`, 'Paris', { match: 'normalised' })).toBe(0);
    const startedMs = performance.now();
    expect(scoreOf('\ufdfa'.repeat(1_000_000), 'Paris', { match: 'normalised' })).toBe(0);
    expect(performance.now() - startedMs).toBeLessThan(500);
  });

  test('the best of several accepted answers counts', () => {
    expect(scoreOf('UK', ['United Kingdom', 'UK'], { match: 'normalised' })).toBe(1);
  });
});

describe('numeric', () => {
  test.each<[Json, Json]>([
    ['7%', '0.07'],
    ['1.1%', 0.011],
    ['7 percent', '7%'],
    ['$32', '32'],
    ['32', '$32.00'],
    ['32 dollars', '$32'],
    ['$5 million', '5000000'],
    ['1,234.5', 1234.5],
    ['1.2e3', '1200'],
    ['3 million', 3e6],
    ['(5)', -5],
    ['($5)', '-5'],
    ['−5', '-5'],
    ['-$5', '$-5'],
    ['.5', 0.5],
    ['12 km', '12'],
    ['9.81 m/s²', '9.81'],
    [42, 42],
    ['42.', 42],
  ])('%j equals %j', (answer, reference) => {
    expect(scoreOf(answer, reference, { match: 'numeric' })).toBe(1);
  });

  test.each<[string, Json, Json]>([
    ['another number', '7', '0.07'],
    ['a percentage of something else', '7 percentage points', '7%'],
    ['another currency', '€32', '$32'],
    ['another unit', '5 m', '5 km'],
    ['an abbreviated magnitude', '5k', '5'],
    ['an abbreviated amount of money', '$5m', '$5'],
    ['two numbers', '5 or 6', '5'],
    ['a range', '5-6', '5'],
    ['a fraction', '1/2', '1'],
    ['grouping that is none', '1,23', '123'],
    ['prose', 'the answer is 5', '5'],
    ['two signs', '-$-5', '5'],
    ['no finite number', '1e999', '1e999'],
    ['no number', 'five', '5'],
    ['nothing', null, '5'],
  ])('%s earns nothing: %j for %j', (_what, answer, reference) => {
    expect(scoreOf(answer, reference, { match: 'numeric' })).toBe(0);
  });

  test.each([
    ['101', 1],
    ['102', 1],
    ['106', 0.5],
    ['94', 0.5],
    ['110', 0],
    ['120', 0],
  ])('near 100 with 2 %% tolerance and part marks up to 10 %%, %s scores %d', (answer, score) => {
    const options = { match: 'numeric', tolerance: 0.02, partialWithin: 0.1 } as const;
    expect(scoreOf(answer, '100', options)).toBeCloseTo(score, 6);
  });

  test('beside a reference of 0 the tolerance is absolute', () => {
    expect(scoreOf('0.01', '0', { match: 'numeric', tolerance: 0.02 })).toBe(1);
    expect(scoreOf('0.03', '0', { match: 'numeric', tolerance: 0.02 })).toBe(0);
  });

  test('a text as long as a book is no number and costs no time', () => {
    expect(scoreOf('9'.repeat(1_000_000), '9', { match: 'numeric' })).toBe(0);
  });
});
