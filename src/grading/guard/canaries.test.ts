import { describe, expect, test } from 'vitest';
import { Failure } from '#src/failure/failure.ts';
import { noEvidence, readCanary, wordOfAll } from './canaries.ts';

const empty = { name: 'empty', answer: '', atLeast: null, atMost: 0.1 };
const reference = { name: 'reference', answer: 'right', atLeast: 0.8, atMost: null };
const scored = (score: number) => ({ kind: 'scored', score }) as const;
const refused = { kind: 'refused', reason: 'no' } as const;
const right = { kind: 'right' } as const;

describe('one canary', () => {
  test('is right at its bound, and wrong beyond it', () => {
    expect(readCanary(empty, scored(0.1), 0)).toEqual(right);
    expect(readCanary(empty, scored(0.11), 0)).toEqual({
      kind: 'wrong',
      canary: 'empty',
      score: 0.11,
      expected: 'at most 0.1',
    });
    expect(readCanary(reference, scored(0.8), 0)).toEqual(right);
    expect(readCanary(reference, scored(0.79), 0)).toMatchObject({ kind: 'wrong', expected: 'at least 0.8' });
  });

  test('that is refused is worth what a refused answer is worth', () => {
    expect(readCanary(empty, refused, 0)).toEqual(right);
    expect(readCanary(empty, refused, 1)).toMatchObject({ kind: 'wrong', score: 1 });
    expect(readCanary(reference, refused, 0)).toMatchObject({ kind: 'wrong', score: 0 });
    expect(readCanary(reference, refused, 'discard')).toMatchObject({ kind: 'wrong', score: null });
    expect(readCanary(empty, refused, 'discard')).toEqual(right);
  });
});

describe('a whole check', () => {
  const silent = noEvidence(new Failure('grader_failed', 'the judge gave no answer in time'));
  const wrong = readCanary(empty, scored(1), 0);

  test('without one of its canaries is no evidence, neither for the judge nor against it', () => {
    expect(wordOfAll([right, silent])).toEqual({
      kind: 'no_evidence',
      reason: 'the judge gave no answer in time',
    });
  });

  test('with a wrong one is wrong, also where another is missing', () => {
    expect(wordOfAll([silent, wrong])).toBe(wrong);
    expect(wordOfAll([right, right])).toEqual(right);
  });
});
