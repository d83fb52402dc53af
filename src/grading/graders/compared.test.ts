import { expect, test } from 'vitest';
import { cpuMs } from '#test/support/cpu-time.ts';
import { answerAt } from './compared.ts';

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

test.each([
  ['a fence with a language', '```json\n{"files": []}\n```', true],
  ['a fence with blanks around what it holds', '``` json \n\n {"files": []} \n\n```', true],
  ['a fence that ends on the line of its text', '```\n{"files": []}```', true],
  ['a fence on one line', '```{"files": []}```', false],
  ['a fence with words behind its language', '```json please\n{"files": []}\n```', false],
  ['a fence that does not end', '```\n{"files": []}', false],
  ['only the beginning of one', '```\n```'.slice(0, 5), false],
])('%s is read as JSON or not: %j %j', (_what, content, isJson) => {
  expect(answerAt(said(content), 'output_json.files')).toEqual(isJson ? [] : undefined);
});

test('a fence of a million line ends that never ends is no JSON at once', () => {
  const startedMs = cpuMs();
  expect(answerAt(said('```' + '\n'.repeat(1_000_000) + 'x'), 'output_json')).toBeUndefined();
  // A thousandth of these line ends took ten seconds once.
  expect(cpuMs() - startedMs).toBeLessThan(1_000);
});
