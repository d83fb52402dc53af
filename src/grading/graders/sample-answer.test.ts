import { expect, test } from 'vitest';
import { answerAt } from './sample-answer.ts';

const said = (content: string) => ({ choices: [{ message: { role: 'assistant', content } }] });

test('what the trainer has taken apart is used as it is', () => {
  const sample = { ...said('other'), output_text: 'text', output_json: { files: ['a'] } };
  expect(answerAt(sample, 'output_text')).toBe('text');
  expect(answerAt(sample, 'output_json.files')).toEqual(['a']);
});

test('without output_text the last message counts, and JSON is read out of it', () => {
  expect(answerAt(said('hello'), 'output_text')).toBe('hello');
  expect(answerAt(said('{"files": ["a"]}'), 'output_json.files')).toEqual(['a']);
  expect(
    answerAt({ output_json: null, output_text: '```\n{"files": []}\n```' }, 'output_json.files'),
  ).toEqual([]);
});

test.each([
  ['nothing was said', {}],
  ['the message has no text', { choices: [{ message: { content: null } }] }],
  ['the text is no JSON', said('the files are a and b')],
  ['the JSON has no such field', said('{"paths": []}')],
  ['the JSON is a list', said('[1]')],
  ['the field would be an inherited one', said('{}')],
])('where %s there is no answer', (_what, sample) => {
  expect(answerAt(sample, 'output_json.files') ?? null).toBeNull();
  expect(answerAt(sample, 'output_json.constructor') ?? null).toBeNull();
});
