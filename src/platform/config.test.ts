import { expect, test } from 'vitest';
import { ConfigMistakes, type ConfigReader, readConfig, type Variables } from './config.ts';

const read = (variables: Variables) =>
  readConfig(variables, (reader: ConfigReader) => ({
    name: reader.text('NAME', { purpose: 'what it is called', pattern: /^[a-z]+$/ }),
    size: reader.whole('SIZE', { purpose: 'how many', fallback: 3, min: 1, max: 9 }),
    kind: reader.choice('KIND', ['a', 'b'], { fallback: 'a' }),
    loud: reader.flag('LOUD'),
  }));

test('what is not set gets its fallback', () => {
  expect(read({ NAME: 'x' })).toEqual({ name: 'x', size: 3, kind: 'a', loud: false });
});

test('every value is read by its type', () => {
  expect(read({ NAME: 'x', SIZE: '9', KIND: 'b', LOUD: 'true' })).toEqual({
    name: 'x',
    size: 9,
    kind: 'b',
    loud: true,
  });
});

const wrong = () => read({ NAME: 'X!', SIZE: '2.5', KIND: 'c', LOUD: 'maybe' });

test('all mistakes are told at once, each with its variable, its value and what belongs there', () => {
  expect(wrong).toThrow(ConfigMistakes);
  expect(wrong).toThrow(/4 mistake/);
  expect(wrong).toThrow('NAME is "X!": what it is called');
  expect(wrong).toThrow('SIZE is "2.5", not a whole number from 1 to 9: how many');
  expect(wrong).toThrow('KIND is "c", not one of: a, b');
  expect(wrong).toThrow('LOUD is "maybe", not 1 or 0');
});

test('a fallback that is no number is a mistake like any other', () => {
  const purpose = 'how many';
  const none = () =>
    readConfig({}, (reader) => reader.whole('SIZE', { purpose, fallback: Number.NaN, min: 1, max: 9 }));
  expect(none).toThrow('SIZE is not set, not a whole number from 1 to 9');
});

test('an empty variable counts as not set', () => {
  expect(() => read({ NAME: ' ' })).toThrow('NAME is not set: what it is called');
});
