/** First wait before a dead part is started again: long enough that a port is free, short enough for a held request. */
const firstMs = 200;
/** Longest wait: a part that dies at once forever costs one start in ten seconds. */
const longestMs = 10_000;
/** A part that lived this long was well; its next death is a first one. */
const wellAfterMs = 60_000;

/** Deaths in a row, and how long to wait before the next start. */
export type Deaths = { readonly inARow: number; readonly delayMs: number };

export const noDeaths: Deaths = { inARow: 0, delayMs: 0 };

/** Doubles with every death in a row, up to ten seconds. */
export function afterDeath(before: Deaths, livedMs: number): Deaths {
  const inARow = livedMs >= wellAfterMs ? 1 : before.inARow + 1;
  return { inARow, delayMs: Math.min(firstMs * 2 ** (inARow - 1), longestMs) };
}
