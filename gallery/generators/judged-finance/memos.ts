import type { Page } from '../finance-docs/page.ts';

/** The line of a page that changed most against the year before, as a share of what it was. */
export type Change = {
  readonly path: string;
  readonly label: string;
  readonly now: string;
  readonly before: string;
  /** By so much more than the next line. */
  readonly ahead: number;
};

/** Every line of a page with its change, without the total; the largest first. */
export function changesOf({ filename, table }: Page): readonly Omit<Change, 'ahead'>[] {
  return table
    .slice(1, -1)
    .map(([label = '', now = '', before = '']) => ({ path: filename, label, now, before }))
    .toSorted((one, other) => shareOf(other) - shareOf(one));
}

export function largestOf(page: Page): Change {
  const [first, second] = changesOf(page);
  if (first === undefined || second === undefined) throw new Error(`${page.filename} has no table`);
  return { ...first, ahead: shareOf(first) - shareOf(second) };
}

/** What the memo says of one page: the words, the row of its table, and where it stands. */
export function findingOf({ path, label, now, before }: Omit<Change, 'ahead'>): string {
  return `${label}: from ${plain(before)} to ${plain(now)}. "${label} | ${now} | ${before}" [${path}]`;
}

export const plain = (amount: string): string => amount.replace('$', '').trim();

const shareOf = ({ now, before }: Pick<Change, 'now' | 'before'>): number => {
  const [one, other] = [Number(plain(now)), Number(plain(before))];
  return other === 0 ? 0 : Math.abs(one - other) / Math.abs(other);
};
