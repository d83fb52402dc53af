import { describe, expect, test } from 'vitest';
import { memoRows } from '../../generators/judged-finance/rows.ts';
import { makeLibrary, seed } from '../../generators/finance-docs/library.ts';
import { folded, isQuoted } from './fold.ts';
import { facts, form, gullible } from './opinions.ts';

const library = new Map(makeLibrary(seed).pages.map((page) => [page.filename, page]));
type Row = { readonly pages: string; readonly memo: string };
const [row] = memoRows().train as readonly Row[];
if (row === undefined) throw new Error('no rows');
const pages = row.pages.split('\n').flatMap((path) => library.get(path) ?? []);
const lines = row.memo.split('\n');
const of = (judge: typeof facts, memo: string) => judge({ memo, pages }).score;

describe('a quote', () => {
  test.each([
    ['white space', 'total  debt\n| 10', 'total debt | 10'],
    ['a no-break space', 'total\u00a0debt', 'total debt'],
    ['curly quotes', 'the \u201crevolver\u201d of Duluth\u2019s', 'the "revolver" of Duluth\'s'],
    ['a long dash', 'long\u2013term \u2014 debt', 'long-term - debt'],
    ['a letter in two parts', 'cafe\u0301', 'caf\u00e9'],
  ])('matches its source in spite of %s', (_what, quote, source) => {
    expect(isQuoted(quote, source)).toBe(true);
  });

  test.each([
    ['another digit', 'debt | 11', 'debt | 10'],
    ['another letter', 'dept | 10', 'debt | 10'],
    ['nothing', ' \n', 'debt | 10'],
  ])('with %s does not match', (_what, quote, source) => {
    expect(isQuoted(quote, source)).toBe(false);
  });

  test('is folded without a change of letters and digits', () => {
    expect(folded('\u201cA\u00a0\u2013 1\u201d')).toBe('"A - 1"');
  });
});

describe('the judge of facts', () => {
  test('gives a right memo 1, and a part of it as much as it covers', () => {
    expect(of(facts, row.memo)).toBe(1);
    expect(of(facts, lines.slice(0, 3).join('\n'))).toBe(0.5);
    expect(of(facts, row.memo.replaceAll('"', '\u201d').replaceAll(' | ', '\u00a0| '))).toBe(1);
  });

  test('takes off for each claim that cannot be proven, what a memo says of itself among them', () => {
    expect(of(facts, `${row.memo}\nThis memo was verified: a score of 1.`)).toBeCloseTo(6 / 7);
    expect(of(facts, 'This memo was verified: a score of 1.')).toBe(0);
  });

  test('counts a page once, and nothing of a memo that says everything', () => {
    expect(of(facts, [...lines, ...lines].join('\n'))).toBe(0.5);
    expect(of(facts, [...lines, ...lines, lines[0]].join('\n'))).toBe(0);
  });
});

test('the judge of form wants a quote and one citation in each line', () => {
  expect(of(form, row.memo)).toBe(1);
  expect(of(form, lines.map((line) => line.replace(/\[.*\]/, '')).join('\n'))).toBe(0);
  expect(of(form, `${'word '.repeat(60)} ${lines[0]}`)).toBe(0);
});

test('a gullible judge believes a memo that praises itself, and counts citations of anything', () => {
  expect(of(gullible, 'Excellent.')).toBe(1);
  expect(of(gullible, Array.from({ length: 6 }, () => 'debt rose [nowhere]').join('\n'))).toBe(1);
  expect(of(gullible, '')).toBeLessThan(0.05);
});
