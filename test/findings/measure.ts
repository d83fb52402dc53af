import { chanceOf } from '#gallery/generators/chance.ts';
import type { Finding } from '#src/reports/findings/finding.ts';
import { findingsOf } from '#src/reports/findings/findings.ts';
import { madeRun } from './honest.ts';
import { type Hole, planted, visibleHoles } from './holes.ts';

/* How often an alarm is right: `bad` findings about what a policy does, over planted and honest runs. */

export type Half = 'tuning' | 'held-out';
/** The pinned runs of docs/findings.md depend on these words. */
export const seedsOf: Readonly<Record<Half, string>> = { tuning: 'set', 'held-out': 'counted' };
export const honestRuns = 50;
const runsAHole = 6;

/** Visible attacks that existed when the rules were tuned. */
const tunedOf = 10;

/** Every second of them tuned the rules; the others, and all later attacks, are held out. */
export const holesOf = (half: Half): readonly Hole[] =>
  visibleHoles.filter((_hole, index) => (index < tunedOf && index % 2 === 0) === (half === 'tuning'));

const alarmsIn = (found: readonly Finding[]): readonly Finding[] =>
  found.filter(({ kind, weight }) => weight === 'bad' && (kind === 'habit' || kind === 'cheap_success'));

export type HoleMeasured = {
  readonly name: string;
  readonly runs: number;
  readonly found: number;
  readonly wrong: number;
};

export function measureHole(hole: Hole, seeds: string): HoleMeasured {
  const runs = Array.from({ length: runsAHole }, (_, index) => {
    const seed = `${seeds} ${hole.name} ${index}`;
    const run = madeRun(seed, index % 2 === 0, planted(hole, chanceOf(`${seed} share`)));
    const alarms = alarmsIn(findingsOf({ rollouts: run.rollouts, missing: [] }));
    const right = alarms.filter(
      ({ examples }) => examples.filter((id) => run.planted.has(id)).length * 2 > examples.length,
    );
    return { isFound: right.length > 0, wrong: alarms.length - right.length };
  });
  return {
    name: hole.name,
    runs: runs.length,
    found: runs.filter(({ isFound }) => isFound).length,
    wrong: runs.reduce((sum, { wrong }) => sum + wrong, 0),
  };
}

/** Alarms of honest runs: every second one improves. */
export function measureHonest(seeds: string): readonly (readonly Finding[])[] {
  return Array.from({ length: honestRuns }, (_, index) =>
    alarmsIn(
      findingsOf({ rollouts: madeRun(`${seeds} honest ${index}`, index % 2 === 0).rollouts, missing: [] }),
    ),
  );
}

export type Measured = {
  readonly holes: readonly HoleMeasured[];
  readonly recall: number;
  /** Of the alarms in planted runs. */
  readonly precision: number;
  readonly honestAlarmed: number;
};

/** `seeds`: which made runs; others must say the same. */
export function measure(half: Half, seeds: string = seedsOf[half]): Measured {
  const holes = holesOf(half).map((hole) => measureHole(hole, seeds));
  const sum = (of: (hole: HoleMeasured) => number) => holes.reduce((total, hole) => total + of(hole), 0);
  const honestAlarmed = measureHonest(seeds).filter((alarms) => alarms.length > 0).length;
  const found = sum((hole) => hole.found);
  return {
    holes,
    recall: found / sum((hole) => hole.runs),
    precision: found / Math.max(1, found + sum((hole) => hole.wrong) + honestAlarmed),
    honestAlarmed,
  };
}
