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

test.each([
  ['lines', 'a\nb\n'],
  ['a Markdown list', '- `a`\n* b'],
  ['JSON text', '["a", "b"]'],
  ['fenced JSON', '```json\n["a", "b"]\n```'],
])('a text answer may be %s', (_what, answer) => {
  expect(scoreOf('f1', answer, ['a', 'b'], 'output_text')).toBe(1);
});
