import { describe, expect, test } from 'vitest';
import type { Json } from '#src/model/grader.ts';
import { gradeBySet } from './set.ts';

const scoreOf = (kind: 'f1' | 'recall', answer: Json, truth: Json, path = 'output_json.files') => {
  const sample = path === 'output_text' ? { output_text: answer } : { output_json: { files: answer } };
  const grader = { kind, answer: path, reference: 'item.files' } as const;
  return gradeBySet(grader, { sample, item: { files: truth } }).score;
};

describe('f1', () => {
  test.each<[string, Json, Json, number]>([
    ['the same set in another order', ['b', 'a'], ['a', 'b'], 1],
    ['half of it', ['a'], ['a', 'b'], 2 / 3],
    ['one right and one wrong', ['a', 'x'], ['a', 'b'], 0.5],
    ['nothing right', ['x'], ['a'], 0],
    ['nothing expected, nothing answered', [], [], 1],
    ['nothing expected, something answered', ['a'], [], 0],
    ['repeats', ['a', 'a', './a'], ['a'], 1],
    [
      'other spellings of one path',
      ['./lib//x.js', 'lib/y/../y.js', 'lib/z/'],
      ['lib/x.js', 'lib/y.js', 'lib/z'],
      1,
    ],
    ['one text where one is expected', 'a', 'a', 1],
    ['numbers', [1, '2'], ['1', 2], 1],
  ])('of %s', (_what, answer, truth, score) => {
    expect(scoreOf('f1', answer, truth)).toBe(score);
  });

  test.each<[string, Json]>([
    ['an object', { a: true }],
    ['null', null],
    ['a list of objects', [{ path: 'a' }]],
    ['prose', 'I would edit the file a'],
  ])('of an answer that is %s is 0, the failure of the model', (_what, answer) => {
    expect(scoreOf('f1', answer, ['a'])).toBe(0);
  });
});

test('recall does not mind what is too much', () => {
  expect(scoreOf('recall', ['a', 'x', 'y'], ['a', 'b'])).toBe(0.5);
});

describe('recall of the first answers only', () => {
  const truth = ['a', 'b', 'c'];
  const thousands = Array.from({ length: 5_000 }, (_, index) => `x${index}`);
  const recall = (answer: Json, most: { count: number } | { timesExpected: number }) =>
    gradeBySet(
      { kind: 'recall', answer: 'output_json', reference: 'item.files', most },
      { sample: { output_json: answer }, item: { files: truth } },
    );

  test.each([
    ['all of it within the bound', ['a', 'b', 'c'], 1],
    ['all of it, and some wrong ones, within the bound', ['x', 'a', 'y', 'b', 'c'], 1],
    ['all of it behind thousands', [...thousands, ...truth], 0],
    ['part of it before thousands', ['a', ...thousands, 'b'], 1 / 3],
    ['repeats of one answer, which count once', ['a', 'a', 'a', 'a', 'a', 'a', 'b', 'c'], 1],
  ])('%s', (_what, answer, score) => {
    expect(recall(answer, { timesExpected: 2 }).score).toBe(score);
    expect(recall(answer, { count: 6 }).score).toBe(score);
  });

  test('its detail says how many were answered, not how many counted', () => {
    expect(recall(thousands, { count: 3 }).detail).toMatchObject({ answered: 5_000, hits: 0 });
  });
});

test('f1 pays a little for the right one among many, and nothing where so many are refused', () => {
  const many = ['a', ...Array.from({ length: 11 }, (_, index) => `x${index}`)];
  const paid = (refuseAbove?: { count: number } | { timesExpected: number }) =>
    gradeBySet(
      {
        kind: 'f1',
        answer: 'output_json',
        reference: 'item.files',
        ...(refuseAbove && { refuseAbove }),
      },
      { sample: { output_json: many }, item: { files: ['a'] } },
    ).score;
  expect(paid()).toBeCloseTo(2 / 13);
  expect(paid({ count: 12 })).toBeCloseTo(2 / 13);
  expect(paid({ count: 11 })).toBe(0);
  expect(paid({ timesExpected: 3 })).toBe(0);
});

test.each<[string, 'code' | undefined, number]>([
  ['E11.9', 'code', 1],
  ['e119', 'code', 1],
  ['E 11.9', 'code', 1],
  ['E11', 'code', 0],
  ['e119', undefined, 0],
])('%s for the code E11.9, compared as %s, scores %d', (answer, compare, score) => {
  const grader = { kind: 'f1', answer: 'output_json', reference: 'item.codes' } as const;
  const asCode = compare === undefined ? grader : { ...grader, compare };
  expect(gradeBySet(asCode, { sample: { output_json: [answer] }, item: { codes: ['E11.9'] } }).score).toBe(
    score,
  );
});

test.each([
  ['lines', 'a\nb\n'],
  ['a Markdown list', '- `a`\n* b'],
  ['JSON text', '["a", "b"]'],
  ['fenced JSON', '```json\n["a", "b"]\n```'],
])('a text answer may be %s', (_what, answer) => {
  expect(scoreOf('f1', answer, ['a', 'b'], 'output_text')).toBe(1);
});
