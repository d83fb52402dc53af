export type TimeLimit = readonly [signal: AbortSignal, withinMs: number];

/**
 * How long one party waits for another: as a signal that ends its wait, and as a number that goes with its request, so that the other party
 * ends before. Otherwise a wait that was only too short would look like a failure of the other party. `others`: what ends the wait as well.
 */
export function timeLimit(ms: number, ...others: readonly AbortSignal[]): TimeLimit {
  const waitedMs = Math.max(1, ms);
  const inTime = AbortSignal.timeout(waitedMs);
  return [others.length === 0 ? inTime : AbortSignal.any([inTime, ...others]), waitedMs];
}
