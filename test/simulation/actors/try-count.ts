import type { TryEnd } from '../invariants/acted.ts';
import type { Report } from '../simulate.ts';

/** How tries of an actor ended, by who has which id in the sandbox, and by step. */
export class TryCount {
  readonly #counts = new Map<string, Record<TryEnd, number>>();

  add(tries: Report['tries']): void {
    for (const { step, isolation, end } of tries)
      for (const name of [isolation, `${isolation}, ${step}`]) this.#of(name)[end] += 1;
  }

  lines(): readonly string[] {
    return [...this.#counts]
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, counts]) => {
        const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
        const ends = Object.entries(counts).map(([end, count]) => `${count} ${end}`);
        return `  ${name}: ${all} tries, ${ends.join(', ')}`;
      });
  }

  #of(name: string): Record<TryEnd, number> {
    const counts = this.#counts.get(name) ?? { scored: 0, marked: 0, unmarked: 0, open: 0 };
    this.#counts.set(name, counts);
    return counts;
  }
}
