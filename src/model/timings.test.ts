import { expect, it } from 'vitest';
import {
  changedTimings,
  productionTimings,
  timingDifferences,
  timingMistakes,
  timingNames,
  timingRelations,
  timingTable,
} from './timings.ts';

it("production's own timings break no rule", () => {
  expect(timingMistakes(productionTimings)).toEqual([]);
});

const broken = {
  requestHoldMs: 500_000,
  longestLineMs: 600_000,
  keptForRepeatsMs: 2_000_000,
  placeKeptMs: 6_000,
  grantUnusedMs: 9_000,
  overdueCallMs: 8_000,
};

it.each(Object.entries(broken))('%s = %d breaks one rule, which is named', (name, ms) => {
  const mistakes = timingMistakes({ ...productionTimings, [name]: ms });
  expect(mistakes).toEqual([expect.stringContaining('does not hold')]);
  expect(mistakes.join()).toContain(name);
});

it('each rule can be broken', () => {
  const found = Object.entries(broken).flatMap(([name, ms]) =>
    timingMistakes({ ...productionTimings, [name]: ms }),
  );
  for (const { rule } of timingRelations) expect(found.join('\n')).toContain(rule);
});

it.each(timingNames.filter((name) => timingTable[name].kind === 'detection'))(
  '%s, which detects a failure, is never below 5 s',
  (name) => {
    expect(timingMistakes({ ...productionTimings, [name]: 4_999 }).join()).toContain(`${name} is 4999`);
  },
);

it('a duration that is set to its default is no change', () => {
  const { openingMs } = productionTimings;
  expect(changedTimings({ ...productionTimings, openingMs, longestLineMs: 1_000 })).toEqual({
    longestLineMs: 1_000,
  });
});

it('durations that differ are named with both values, and equal ones are not', () => {
  const own = { longestLineMs: 1_000, openingMs: 2_000 };
  expect(timingDifferences(own, { openingMs: 2_000, e2bLineMs: 7_000 })).toEqual([
    'longestLineMs is 1000 here and 300000 in the fleet',
    'e2bLineMs is 50000 here and 7000 in the fleet',
  ]);
  expect(timingDifferences(own, own)).toEqual([]);
});
