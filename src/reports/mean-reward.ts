import type { Blame } from '../failure/codes.ts';
import type { GroupReport } from '../ports/fleet/reports.ts';

/** The rewards of some groups in sum. Rollouts that a caller discarded or voided are in neither value. */
export type MeanReward = {
  /** Over what was scored; null if nothing was. */
  readonly mean: number | null;
  /**
   * The mean with each infrastructure discard as a 0, as a trainer that masks nothing would have learned it. Null if there is
   * neither a score nor such a discard, or if the blame of a discard is unknown.
   */
  readonly ifZeroed: number | null;
  readonly discards: Readonly<Partial<Record<Blame, number>>>;
};

/** Of a group, what its mean reward needs. */
export type GroupRewards = Pick<GroupReport, 'scored' | 'mean' | 'discarded' | 'discards'>;

export class RewardSum {
  #scored = 0;
  #mean = 0;
  #discarded = 0;
  readonly #discards = new Map<Blame, number>();

  add({ scored, mean, discarded, discards }: GroupRewards): void {
    this.#scored += scored;
    if (mean !== null && scored > 0) this.#mean += (mean - this.#mean) * (scored / this.#scored);
    this.#discarded += discarded;
    for (const blame of ['infrastructure', 'caller', 'model'] as const) {
      const count = discards[blame] ?? 0;
      if (count > 0) this.#discards.set(blame, (this.#discards.get(blame) ?? 0) + count);
    }
  }

  get reward(): MeanReward {
    const mean = this.#scored === 0 ? null : this.#mean;
    return { mean, ifZeroed: this.#ifZeroed(), discards: Object.fromEntries(this.#discards) };
  }

  #ifZeroed(): number | null {
    const blamed = this.#discards.values().reduce((sum, count) => sum + count, 0);
    const counted = this.#scored + (this.#discards.get('infrastructure') ?? 0);
    return blamed < this.#discarded || counted === 0 ? null : this.#mean * (this.#scored / counted);
  }
}
