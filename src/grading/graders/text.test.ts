import { describe, expect, test } from 'vitest';
import { cpuMs } from '#test/support/cpu-time.ts';
import type { Json, NumberReading, PartialCredit } from '#src/model/grader.ts';
import { gradeByText } from './text.ts';

type Options = {
  readonly match: 'exact' | 'normalised' | 'numeric';
  readonly tolerance?: number;
  readonly partialWithin?: number;
  readonly reading?: NumberReading;
  readonly partial?: PartialCredit;
};

const scoreOf = (
  answer: Json,
  reference: Json,
  { match, tolerance = 0, partialWithin = tolerance, ...others }: Options,
) => {
  const paths = { answer: 'output_text', reference: 'item.answer' };
  const grader = { kind: 'text', ...paths, match, tolerance, partialWithin, ...others } as const;
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
    const startedMs = cpuMs();
    expect(scoreOf('\ufdfa'.repeat(1_000_000), 'Paris', { match: 'normalised' })).toBe(0);
    expect(cpuMs() - startedMs).toBeLessThan(500);
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

  describe('as people write amounts in reports', () => {
    const reports = {
      match: 'numeric',
      reading: { magnitudes: ['k', 'm', 'b', 'bn'], currencies: ['usd', 'eur'] },
      partial: { worth: 0.5, within: 0.001, rounding: true },
    } as const;

    test.each<[Json, Json, number]>([
      ['1.2M', '1,200,000', 1],
      ['$1.2M', '1.2 million', 1],
      ['5k', '5000', 1],
      ['5K', 5000, 1],
      ['$3bn', '3,000 million dollars', 1],
      ['USD 32', '$32', 1],
      ['32 USD', '32', 1],
      ['US$32', 'USD 32', 1],
      ['-USD 1.5M', '(1,500,000)', 1],
      ['7%', '0.07', 1],
      ['12 km', '12', 1],
      // Not the same number, and not near it.
      ['7', '7%', 0],
      ['EUR 32', '$32', 0],
      ['CHF 32', '32', 0],
      ['1.2M', '1.2', 0],
      ['The answer is $1.2M', '1.2M', 0],
      ['1.2M, 1.3M', '1.2M', 0],
      // A tenth of a percent off, or rounded.
      ['0.999', '1', 0.5],
      ['0.998', '1', 0],
      ['7.1%', '7.14%', 0.5],
      ['7.14%', '7.1%', 0.5],
      ['7.2%', '7.14%', 0],
      ['$1.2M', '1,234,567', 0.5],
      ['1.24e3', '1236', 0.5],
      // One digit is no rounding: "0" would be half right for most ratios.
      ['0', '0.4', 0],
      ['0.0', '0.04', 0],
      ['1', '0.93', 0],
      ['7%', '7.14%', 0],
    ])('%j for %j scores %d', (answer, reference, score) => {
      expect(scoreOf(answer, reference, reports)).toBe(score);
    });

    test('rounding earns nothing where the author did not say so', () => {
      const strictly = { ...reports, partial: { ...reports.partial, rounding: false } };
      expect(scoreOf('7.1%', '7.14%', strictly)).toBe(0);
      expect(scoreOf('0.999', '1', strictly)).toBe(0.5);
    });
  });

  test('beside a reference of 0 the tolerance is absolute', () => {
    expect(scoreOf('0.01', '0', { match: 'numeric', tolerance: 0.02 })).toBe(1);
    expect(scoreOf('0.03', '0', { match: 'numeric', tolerance: 0.02 })).toBe(0);
  });

  test('a text as long as a book is no number and costs no time', () => {
    expect(scoreOf('9'.repeat(1_000_000), '9', { match: 'numeric' })).toBe(0);
  });
});
