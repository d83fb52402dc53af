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
  /** Runs it, saying what it is doing. */
  readonly run: (say: (line: string) => void) => Promise<readonly Figure[]>;
};

type Measured = Pick<Figure, 'what' | 'unit' | 'value' | 'floor'>;

/** At most `most` times the floor; `orAdded` forgives a difference that small, in the same unit. */
export function atMost(measured: Measured, most: number, orAdded = 0): Figure {
  const ratio = measured.value / measured.floor;
  const added = measured.value - measured.floor;
  const forgiven = orAdded > 0 ? `, or at most ${orAdded} ${measured.unit} added` : '';
  return { ...measured, ratio, goal: `≤ ${most} × floor${forgiven}`, met: ratio <= most || added <= orAdded };
}

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

/** The value below which this share of the sample lies. */
export function quantile(sample: readonly number[], share: number): number {
  const sorted = [...sample].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

export const median = (sample: readonly number[]): number => quantile(sample, 0.5);
