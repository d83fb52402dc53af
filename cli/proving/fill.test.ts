import { expect, test } from 'vitest';
import { fill, namedIn } from './fill.ts';

const known = {
  row: {
    item: { id: 'a', repo: 'ajv', count: 3, deep: { files: ['x', 'y'] }, quote: "it's" },
    reference: { files: ['x'] },
    cheating: undefined,
  },
  outputs: ['first', 'last'],
  copy: 2,
};

test.each([
  ['a text that is one placeholder becomes the value itself', '{item.deep.files}', ['x', 'y']],
  ['in a longer text it is written out', 'n={item.count} {item.deep.files}', 'n=3 ["x","y"]'],
  ['as one word of a shell command', 'echo {sh item.quote}', String.raw`echo 'it'\''s'`],
  ['alone as one word of a shell command', '{sh item.repo}', "'ajv'"],
  ['what is ours', { files: '{corral.reference.files}' }, { files: ['x'] }],
  ['what the last call printed, and an earlier one', ['{output}', '{output.1}'], ['last', 'first']],
  ['which copy it is', ['{copy}', 'hit {copy}'], [2, 'hit 2']],
  ['what a shell writes alike stays', 'echo ${output} ${item} {a,b}', 'echo ${output} ${item} {a,b}'],
])('%s', (_what, template, filled) => {
  expect(fill(template, known)).toEqual(filled);
});

test('a field that the row does not have stops everything: an empty text would be another policy', () => {
  expect(() => fill('{item.nothing}', known)).toThrow('{item.nothing}, which row "a" does not have');
  expect(() => fill('{corral.cheating}', known)).toThrow('{corral.cheating}');
  expect(() => fill('{output}', { ...known, outputs: [] })).toThrow('{output}');
});

test('a value is never looked at again: what a row says is no placeholder', () => {
  const sly = { ...known, row: { ...known.row, item: { id: '{corral.reference}' } } };
  expect(fill('{item.id}', sly)).toBe('{corral.reference}');
  expect(fill('is {item.id}', sly)).toBe('is {corral.reference}');
});

test('what a template names is known before it is played', () => {
  expect(namedIn({ a: ['{sh item.request} {item.x.y}'], b: '{corral.cheating}', c: 3 })).toEqual([
    'item.request',
    'item.x.y',
    'corral.cheating',
  ]);
});
