import { expect, test } from 'vitest';
import { listFields } from './item-fields.ts';

const item = JSON.stringify({ id: 'task-1', answer: { paths: ['a'] }, answers: 3 });

test('a grader compares with a part of a field → that field is the reference, and no other', () => {
  expect(listFields({ item, reference: { 'item.answer.paths': '["a"]' } })).toEqual([
    { name: 'id', text: 'task-1', isReference: false },
    { name: 'answer', text: '{"paths":["a"]}', isReference: true },
    { name: 'answers', text: '3', isReference: false },
  ]);
});

test('a row that is cut, a list or missing has no fields', () => {
  for (const text of [item.slice(0, -1), '[1]', 'null'])
    expect(listFields({ item: text, reference: {} })).toBeNull();
});

test('an escape in a row stays visible: it never becomes a character that turns text around', () => {
  const hostile = JSON.stringify({ ['a\u202E']: 'b\u202E', c: ['d\u0007'] }).replaceAll(
    '\u202E',
    String.raw`\u202e`,
  );
  const fields = listFields({ item: hostile, reference: {} }) ?? [];
  expect(fields.map(({ name }) => name)).toEqual([String.raw`a\u202e`, 'c']);
  expect(JSON.stringify(fields)).toMatch(/^[ -~]+$/);
  expect(fields[0]?.text).toBe(String.raw`b\u202e`);
});
