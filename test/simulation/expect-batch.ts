import { expect } from 'vitest';
import type { RealScripts } from './fleet/real-scripts.ts';
import { simulate } from './simulate.ts';
import { verdictLines } from './tell.ts';

/** One test a batch, so that a report says how far it came. */
export const batch = 50;

/**
 * A tenth of a second each, and many times that on a busy machine. A batch that is given up goes on beside the next test,
 * and two worlds at a time disturb each other: so this ends only what would never end.
 */
export const batchMs = 600_000;

/** Plays the worlds of a batch; in each of them every invariant must hold. */
export async function expectBatch(
  scripts: RealScripts,
  first: number,
  last = first + batch - 1,
): Promise<void> {
  for (let seed = first; seed <= last; seed += 1) {
    const report = await simulate(scripts, { seed });
    expect(report.violation, verdictLines(report).join('\n')).toBeNull();
  }
}
