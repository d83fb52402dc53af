import { expect, test } from 'vitest';
import { promptFields, promptOf } from './dataset.ts';

const item = { id: 'a', repo: 'ajv', deep: { files: ['x', 'y'] }, sly: '{item.repo}' };

test.each([
  ['a field', 'In {item.repo}.', 'In ajv.'],
  ['a value that is no text', 'One of {item.deep.files}', 'One of ["x","y"]'],
  ['the plain text', 'Write {{item.repo}}', 'Write {item.repo}'],
  ['what is no placeholder', 'Answer {"files": []}, ${x} {name}', 'Answer {"files": []}, ${x} {name}'],
  ['a value that looks like one, as it is', 'Say {item.sly}', 'Say {item.repo}'],
])('a prompt tells %s', (_what, user, said) => {
  expect(promptOf({ user }, item)).toEqual({ messages: [{ role: 'user', content: said }] });
});

test('a system message stands first', () => {
  expect(promptOf({ system: 'You know {item.repo}.', user: 'Go.' }, item)).toEqual({
    messages: [
      { role: 'system', content: 'You know ajv.' },
      { role: 'user', content: 'Go.' },
    ],
  });
});

test('a row that lacks what the prompt names has none: an empty word would be another question', () => {
  const prompt = { user: '{item.repo} {item.nothing} {item.deep.none} {item.nothing}' };
  expect(promptOf(prompt, item)).toEqual({ missing: ['nothing', 'deep.none'] });
  expect(promptFields(prompt)).toEqual(['repo', 'nothing', 'deep.none']);
});
