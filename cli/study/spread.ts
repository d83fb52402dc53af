import { deviation, mean, scoredOf, type StudiedRollout } from './rollout.ts';

/*
 * What a model learns from: an advantage is a score against those of its group, the copies of one item. A group whose copies
 * are all paid the same moves nothing, whatever it is paid.
 */

/** Sums of floats. */
const epsilon = 1e-6;

export type ItemSpread = {
  readonly item: string;
  /** Of the copies that have one, in rising order. */
  readonly scores: readonly number[];
  readonly mean: number;
  readonly deviation: number;
  readonly best: number;
  readonly lost: number;
  readonly says: ItemSays;
};

/** `alike`: all copies the same, between 0 and 1. `unknown`: fewer than two have a score, so nothing can be said. */
export type ItemSays = 'spread' | 'always 0' | 'always 1' | 'alike' | 'unknown';

/** Items with a score, the best paid first; ties by name, so that the same rollouts give the same list. */
export function itemsOf(rollouts: readonly StudiedRollout[]): readonly ItemSpread[] {
  const told = rollouts.filter((rollout) => rollout.item !== null);
  return [...Map.groupBy(told, ({ item }) => item ?? '')]
    .flatMap(([item, copies]) => itemOf(item, copies) ?? [])
    .toSorted((a, b) => b.mean - a.mean || (a.item < b.item ? -1 : 1));
}

function itemOf(item: string, copies: readonly StudiedRollout[]): ItemSpread | null {
  const scores = scoredOf(copies)
    .map(({ ended }) => ended.score)
    .toSorted((a, b) => a - b);
  const [lowest, highest] = [scores[0], scores.at(-1)];
  const middle = mean(scores);
  if (lowest === undefined || highest === undefined || middle === null) return null;
  return {
    item,
    scores,
    mean: middle,
    deviation: deviation(scores) ?? 0,
    best: highest,
    lost: copies.filter(({ ended }) => ended.kind === 'lost').length,
    says: scores.length < 2 ? 'unknown' : saysOf(lowest, highest),
  };
}

function saysOf(lowest: number, highest: number): ItemSays {
  if (highest - lowest > epsilon) return 'spread';
  if (highest <= epsilon) return 'always 0';
  return lowest >= 1 - epsilon ? 'always 1' : 'alike';
}

/** Shares of the items that can be judged; null if there are no such items. */
export type Shares = {
  readonly judged: number;
  readonly unknown: number;
  readonly spread: number | null;
  readonly always0: number | null;
  readonly always1: number | null;
  readonly alike: number | null;
};

export function sharesOf(items: readonly ItemSpread[]): Shares {
  const judged = items.filter(({ says }) => says !== 'unknown');
  const share = (says: ItemSays) =>
    judged.length === 0 ? null : judged.filter((item) => item.says === says).length / judged.length;
  return {
    judged: judged.length,
    unknown: items.length - judged.length,
    spread: share('spread'),
    always0: share('always 0'),
    always1: share('always 1'),
    alike: share('alike'),
  };
}

export type BestOfK = { readonly k: number; readonly mean: number };

/**
 * What the best of k copies is paid, on the mean over items: what a model could become that always did what it now does at
 * its best. Of n copies every choice of k counts alike, so the curve does not hang on which copies came first. As far as
 * every judged item has copies.
 */
export function bestOfK(items: readonly ItemSpread[]): readonly BestOfK[] {
  const judged = items.filter(({ says }) => says !== 'unknown');
  if (judged.length === 0) return [];
  const most = Math.min(...judged.map(({ scores }) => scores.length));
  return Array.from({ length: most }, (_, index) => {
    const k = index + 1;
    return { k, mean: mean(judged.map(({ scores }) => expectedBest(scores, k))) ?? 0 };
  });
}

/** The mean over all choices of k of these: the i-th lowest is the best in C(i-1, k-1) of C(n, k). */
function expectedBest(rising: readonly number[], k: number): number {
  const n = rising.length;
  let best = 0;
  // The highest is chosen in k of n; the next is the best wherever those above it are not chosen, and so on.
  let isBest = k / n;
  for (let rank = n; rank >= k; rank -= 1) {
    best += isBest * (rising[rank - 1] ?? 0);
    isBest *= (rank - k) / (rank - 1 || 1);
  }
  return best;
}

export type Level = { readonly score: number; readonly rollouts: number };

/** The scores that were given at all, the lowest first; two are what a yes or no gives. */
export function levelsOf(rollouts: readonly StudiedRollout[]): readonly Level[] {
  const scores = scoredOf(rollouts).map(({ ended }) => Math.round(ended.score / epsilon) * epsilon);
  return [...Map.groupBy(scores, (score) => Number(score.toFixed(6)))]
    .map(([score, all]) => ({ score, rollouts: all.length }))
    .toSorted((a, b) => a.score - b.score);
}

export type PartSpread = {
  readonly part: string;
  readonly rollouts: number;
  readonly mean: number;
  readonly min: number;
  readonly max: number;
  /** Whether it is the same in every rollout: then it teaches nothing. */
  readonly constant: boolean;
};

/** Score by part of the grader, in the order in which the grader has them. */
export function partsOf(rollouts: readonly StudiedRollout[]): readonly PartSpread[] {
  const all = scoredOf(rollouts).flatMap(({ parts }) => parts);
  return [...Map.groupBy(all, ({ part }) => part)].flatMap(([part, told]) => {
    const scores = told.flatMap(({ score }) => score ?? []);
    const middle = mean(scores);
    if (middle === null) return [];
    const [min, max] = [Math.min(...scores), Math.max(...scores)];
    return { part, rollouts: scores.length, mean: middle, min, max, constant: max - min <= epsilon };
  });
}
