import { expect, it } from 'vitest';
import { visibleLine, visibleLines } from './visible-text.ts';

it.each([
  ['an escape sequence', '\u001B[2J', String.raw`\u001b[2J`],
  ['one that begins with a single character', '\u009B2J', String.raw`\u009b2J`],
  ['a return to the beginning of the line', 'a\rb', String.raw`a\u000db`],
  ['a tab, a bell, a backspace', '\t\u0007\b', String.raw`\u0009\u0007\u0008`],
  ['delete', '\u007F', String.raw`\u007f`],
  ['text that is turned around', '\u202Etxt\u2066', String.raw`\u202etxt\u2066`],
  ['what has no width', 'a\u200Bb\uFEFF', String.raw`a\u200bb\ufeff`],
  ['separators of lines and paragraphs', '\u2028\u2029\u0085', String.raw`\u2028\u2029\u0085`],
  ['tags beyond 16 bits', '\u{E0041}', String.raw`\udb40\udc41`],
  ['half a pair', '\uD800', String.raw`\ud800`],
])('%s is shown, not obeyed', (_, text, shown) => {
  expect(visibleLine(text)).toBe(shown);
  expect(visibleLines(text)).toBe(shown);
});

it('words of any language stay as they are', () => {
  for (const text of ['grüße 你好 שלום 👍', 'a\\u001b', ' – ']) expect(visibleLine(text)).toBe(text);
});

it('JSON stays the same data', () => {
  const data = { command: '\u001B]0;x\u0007\n\u009B\u202E\u{E0041}\uD800' };
  const shown = visibleLines(JSON.stringify(data, null, 2));
  expect(shown).toMatch(/^[ -~\n]*$/);
  expect(JSON.parse(shown)).toEqual(data);
});
