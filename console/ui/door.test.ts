import { expect, test } from 'vitest';
import { readJson, visibleText } from './door.ts';

test('no character of Unicode that hides, turns text around or is an order passes the door', () => {
  const left: string[] = [];
  for (let code = 0; code <= 0x10_ff_ff; code += 1) {
    const shown = visibleText(String.fromCodePoint(code));
    if (/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(shown) && shown !== '\n' && shown !== '\t') left.push(shown);
  }
  expect(left).toEqual([]);
});

test('terminal colors are dropped, and lines and tabs stay', () => {
  expect(visibleText('\u001B[31mred\u001B[0m\ta\r\nb')).toBe('red\ta\nb');
});

test('names and values of an answer pass it, however deep they are', () => {
  const answer = { ['a\u202E']: [{ b: 'x\u0007' }], n: 1, none: null };
  expect(readJson(JSON.stringify(answer))).toEqual({
    [String.raw`a\u202e`]: [{ b: String.raw`x\u0007` }],
    n: 1,
    none: null,
  });
});
