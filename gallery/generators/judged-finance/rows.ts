import { chanceOf } from '../chance.ts';
import { makeLibrary, seed } from '../finance-docs/library.ts';
import type { Page } from '../finance-docs/page.ts';
import { findingOf, largestOf } from './memos.ts';

const pagesOfMemo = 6;
const memosOfCompany = 8;
/** Every tenth company is kept for evaluation, with all of its reports. */
const evalEvery = 10;

/** Memos about six pages of one company each; none of them has rows in both splits. */
export function memoRows(): { readonly train: readonly object[]; readonly eval: readonly object[] } {
  const { pages } = makeLibrary(seed);
  const ofCompany = [...Map.groupBy(pages, ({ filename }) => filename.split('/')[0] ?? '')];
  const rowsOf = (isKept: boolean) =>
    ofCompany
      .filter((_, index) => (index % evalEvery === evalEvery - 1) === isKept)
      .flatMap(([company, own]) => memosOf(company, own));
  return { train: rowsOf(false), eval: rowsOf(true) };
}

const memosOf = (company: string, pages: readonly Page[]) =>
  Array.from({ length: memosOfCompany }, (_, index) => {
    const id = `${company}-memo-${index + 1}`;
    const chosen = chanceOf(`judged-finance ${id}`).some(pages, pagesOfMemo);
    const memo = chosen.map((page) => findingOf(largestOf(page))).join('\n');
    return { id, company, pages: chosen.map(({ filename }) => filename).join('\n'), memo };
  });
