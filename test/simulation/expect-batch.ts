import { expect } from 'vitest';
import type { RealScripts } from './fleet/real-scripts.ts';
import type { Actor } from './actors/actor.ts';
import { type Report, simulate, type SimulationOptions } from './simulate.ts';
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
  of: Omit<SimulationOptions, 'seed'> = {},
): Promise<void> {
  for (let seed = first; seed <= last; seed += 1) await expectHeld(scripts, { ...of, seed });
}

/** The same of worlds with an actor. Returns what it tried. */
export async function expectHeldAgainst(
  scripts: RealScripts,
  actor: Actor,
  seeds: number,
): Promise<Report['tries']> {
  const tries: Report['tries'][] = [];
  for (let seed = 1; seed <= seeds; seed += 1) tries.push((await expectHeld(scripts, { seed, actor })).tries);
  return tries.flat();
}

async function expectHeld(scripts: RealScripts, options: SimulationOptions): Promise<Report> {
  const report = await simulate(scripts, options);
  expect(report.violation, verdictLines(report).join('\n')).toBeNull();
  return report;
}
