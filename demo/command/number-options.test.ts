import { expect, test } from 'vitest';
import { above, wholeFrom } from './number-options.ts';

test.each(['8', '1', ' 3 '])('%j is a whole number from 1', (text) => {
  expect(wholeFrom(1)(text)).toBe(Number(text));
});

test.each(['0', '1.5', '-1', '', ' ', 'many', 'Infinity'])(
  '%j is refused as a whole number from 1',
  (text) => {
    expect(() => wholeFrom(1)(text)).toThrow('A whole number of at least 1 is expected.');
  },
);

test.each(['0', '-0.5', '', 'NaN', 'Infinity'])(
  '%j is refused as a number above 0, half a minute is not',
  (text) => {
    expect(() => above(0)(text)).toThrow('A number above 0 is expected.');
    expect(above(0)('0.5')).toBe(0.5);
  },
);
