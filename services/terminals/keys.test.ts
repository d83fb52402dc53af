import { expect, test } from 'vitest';
import { encodeKeys } from './keys.ts';

const normal = { hasApplicationCursor: false };

test.each([
  ['a B Space Enter', 'aB \r'],
  ['C-c C-C C-[ C-Space C-?', '\u0003\u0003\u001B\u0000\u007F'],
  ['M-f M-C-x Escape', '\u001Bf\u001B\u0018\u001B'],
  ['Up C-Up S-Left M-Home', '\u001B[A\u001B[1;5A\u001B[1;2D\u001B[1;3H'],
  ['PageUp NPage Delete C-Delete F5', '\u001B[5~\u001B[6~\u001B[3~\u001B[3;5~\u001B[15~'],
  ['F1 S-F4 Tab BTab S-Tab BSpace', '\u001BOP\u001B[1;2S\t\u001B[Z\u001B[Z\u007F'],
  ['- é 漢', '-é漢'],
  ['', ''],
])('%s are sent as a terminal sends them', (names, sent) => {
  expect(encodeKeys(names, normal)).toBe(sent);
});

test('cursor keys follow the mode that the program has set', () => {
  expect(encodeKeys('Up End C-Up', { hasApplicationCursor: true })).toBe('\u001BOA\u001BOF\u001B[1;5A');
});

test.each(['Fire', 'C-', 'C-Enter', 'enter', 'toString', '__proto__', 'constructor'])(
  '%s is no key, and the reason names the keys',
  (name) => {
    expect(() => encodeKeys(`a ${name}`, normal)).toThrow(/^there is no key .*; keys are Enter, /);
  },
);
