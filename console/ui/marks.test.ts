import { expect, test } from 'vitest';
import { visibleText } from './door.ts';
import { marksOf } from './marks.ts';

const why = (answer: Readonly<Record<string, string>>, reference: Readonly<Record<string, string>>) => ({
  item: '',
  answer,
  reference,
  parts: [],
  stderr: '',
});

test('entries of an answer are right, missing or not asked for', () => {
  expect(marksOf(why({ files: '["a","c"]' }, { files: '["a","b"]' }))).toEqual([
    { text: 'a', how: 'right' },
    { text: 'b', how: 'missing' },
    { text: 'c', how: 'not asked for' },
  ]);
});

test.each([
  ['a text', why({ files: 'a' }, { files: '["a"]' })],
  ['a list of other values', why({ files: '["a"]' }, { files: '[1]' })],
  ['a list that was cut', why({ files: '["a","b' }, { files: '["a"]' })],
  ['one of several', why({ files: '["a"]', text: '["a"]' }, { files: '["a"]' })],
])('%s has no marks', (_, each) => {
  expect(marksOf(each)).toBeNull();
});

test('a character that hides stays visible when its list is read', () => {
  const text = visibleText(JSON.stringify(['a\u202Eb']));
  expect(marksOf(why({ files: text }, { files: '[]' }))?.[0]?.text).toBe(String.raw`a\u202eb`);
});
