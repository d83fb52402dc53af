import { expect, test } from 'vitest';
import { backtracking } from './backtracking.ts';
import { patternsIn } from './find-patterns.ts';

test.each([
  ['^```[\\w-]*\\s*\\n([\\s\\S]*?)\\n?\\s*```$', ''],
  ['^(a+)+$', ''],
  ['^(?:a|aa)+$', ''],
  ['\\s+$', ''],
  ['^a|b*c', ''],
  ['^a*b', 'm'],
  ['^.*x.*y', ''],
  ['^a{1,}b{2,}$', ''],
  ['^a{1,5000}b{1,5000}$', ''],
])('%s with the flags "%s" could cost more than its text is long', (pattern, flags) => {
  expect(backtracking(pattern, flags)).toEqual(expect.any(String));
});

test.each([
  ['^[a-z]+$', ''],
  ['\\s+', 'gu'],
  ['(\\s+)', 'g'],
  ['^[-*]\\s+', ''],
  ['[$()+*?]', 'g'],
  ['^a{3}(?:b|c){1,9}$', ''],
  ['^sha256:[a-f0-9]{64}$', ''],
  ['\\+\\*', ''],
])('%s with the flags "%s" is linear for certain', (pattern, flags) => {
  expect(backtracking(pattern, flags)).toBeNull();
});

test('expressions are found wherever they stand, those that are made at run time too', () => {
  const source =
    'const a: RegExp = /x+/g;\nf(`${/y/.test(b as string)}`);\nnew RegExp(a.source);\n// /no+/\n';
  expect(patternsIn(source)).toEqual([
    { line: 1, pattern: 'x+', flags: 'g' },
    { line: 2, pattern: 'y', flags: '' },
    { line: 3, pattern: null, flags: '' },
  ]);
});
