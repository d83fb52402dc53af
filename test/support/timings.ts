import { productionTimings, timingNames, type Timings, timingTable } from '#src/model/timings.ts';

const tenths = timingNames
  .filter((name) => timingTable[name].kind === 'patience')
  .map((name) => [name, productionTimings[name] / 10] as const);

/**
 * A tenth of production's patience, for tests that wait until it is over. What detects failures is not shortened like that,
 * because a busy machine would then fail such a test; the grace fits into a request that is held for a tenth. While something is
 * opened, a sandbox starts or a killed Redis comes back, which takes as long as in production.
 */
export const impatient: Partial<Timings> = {
  ...Object.fromEntries(tenths),
  settleGraceMs: 5_000,
  openingMs: productionTimings.openingMs,
  e2bLineMs: productionTimings.e2bLineMs,
};

/** As {@link impatient}, but a native request waits as long as it may: three sandboxes fail within it on a busy machine, too. */
export const impatientOnRft: Partial<Timings> = {
  ...impatient,
  longestLineMs: productionTimings.requestHoldMs / 10,
};
