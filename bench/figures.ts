/** One thing measured against the floor that was measured beside it, in the same run on the same machine. */
export type Figure = {
  readonly what: string;
  readonly unit: string;
  readonly value: number;
  /** What the same work costs without us, or the bound where there is nothing to compare with. */
  readonly floor: number;
  /** value ÷ floor. */
  readonly ratio: number;
  readonly goal: string;
  readonly met: boolean;
};

export type Benchmark = {
  readonly name: string;
  /** Runs it, saying what it is doing. `runs`: of one that is run several times, how often; null: as it usually is. */
  readonly run: (say: (line: string) => void, runs: number | null) => Promise<readonly Figure[]>;
};

type Measured = Pick<Figure, 'what' | 'unit' | 'value' | 'floor'>;

/** At most `most` times the floor; `orAdded` forgives a difference that small, in the same unit. */
export function atMost(measured: Measured, most: number, orAdded = 0): Figure {
  const ratio = measured.value / measured.floor;
  const added = measured.value - measured.floor;
  const forgiven = orAdded > 0 ? `, or at most ${orAdded} ${measured.unit} added` : '';
  return { ...measured, ratio, goal: `≤ ${most} × floor${forgiven}`, met: ratio <= most || added <= orAdded };
}

/** A value and what it is compared with, measured one right after the other. */
export type Round = { readonly value: number; readonly floor: number };

/** Measures both, now the one first and now the other: who comes second finds what the first has left behind. */
export async function inTurns(
  measure: Readonly<Record<keyof Round, () => Promise<number>>>,
  round: number,
): Promise<Round> {
  if (round % 2 === 0) {
    const value = await measure.value();
    return { value, floor: await measure.floor() };
  }
  const floor = await measure.floor();
  return { floor, value: await measure.value() };
}

type Rounds = Pick<Figure, 'what' | 'unit'> & { readonly rounds: readonly Round[] };

/** As {@link atMost}, of several rounds: the machine changes between them, so their own ratios are what is compared. */
export function atMostInRounds({ what, unit, rounds }: Rounds, most: number): Figure {
  const medians = mediansOf(rounds);
  const goal = `≤ ${most} × floor in the median of ${rounds.length} rounds`;
  return { what, unit, ...medians, goal, met: medians.ratio <= most };
}

/** As {@link atLeast}, in the same way. */
export function atLeastInRounds({ what, unit, rounds }: Rounds, least: number): Figure {
  const medians = mediansOf(rounds);
  const goal = `≥ ${least} × floor in the median of ${rounds.length} rounds`;
  return { what, unit, ...medians, goal, met: medians.ratio >= least };
}

const mediansOf = (rounds: readonly Round[]) => ({
  value: median(rounds.map((round) => round.value)),
  floor: median(rounds.map((round) => round.floor)),
  ratio: median(rounds.map((round) => round.value / round.floor)),
});

/** At least `least` times the floor, where more is better. */
export function atLeast(measured: Measured, least: number): Figure {
  const ratio = measured.value / measured.floor;
  return { ...measured, ratio, goal: `≥ ${least} × floor`, met: ratio >= least };
}

/** At most the bound itself. */
export function within(measured: Measured): Figure {
  const ratio = measured.value / measured.floor;
  return { ...measured, ratio, goal: `≤ ${measured.floor} ${measured.unit}`, met: ratio <= 1 };
}

/** Exactly the bound, which may be zero. */
export function exactly(measured: Measured): Figure {
  const { value, floor } = measured;
  return { ...measured, ratio: floor === 0 ? value : value / floor, goal: `${floor}`, met: value === floor };
}

/** The value below which this share of the sample lies. */
export function quantile(sample: readonly number[], share: number): number {
  const sorted = [...sample].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

export const median = (sample: readonly number[]): number => quantile(sample, 0.5);
