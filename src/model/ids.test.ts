import { expect, test } from 'vitest';
import { isIdText } from './ids.ts';

test.each(['.', '..', '', 'two words', 'tab\t', 'é', 'x'.repeat(257)])('%j is no id', (text) => {
  expect(isIdText(text)).toBe(false);
});

test.each(['...', '.a', 'a/../b', 'trace_01', 'x'.repeat(256), '%2e'])('%j may be an id', (text) => {
  expect(isIdText(text)).toBe(true);
});
