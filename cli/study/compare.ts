import { mean, scoredOf, type StudiedRollout } from './rollout.ts';

/** One item under two subjects: how much more the other is paid, and how many more calls it makes. */
export type Difference = { readonly item: string; readonly reward: number; readonly calls: number };

/** Items by what became of the reward, and of the calls. */
export type Quadrants = {
  readonly items: number;
  readonly differences: readonly Difference[];
  readonly counts: Readonly<Record<Turn, Readonly<Record<'fewer' | 'same' | 'more', number>>>>;
  /** Items that only one of the two has: nothing is said of them. */
  readonly unmatched: number;
};

export type Turn = 'better' | 'equal' | 'worse';

/** Means of floats. */
const epsilon = 1e-9;

/** From `before` to `after`, by the means of each item; of scored rollouts alone. */
export function compare(before: readonly StudiedRollout[], after: readonly StudiedRollout[]): Quadrants {
  const [one, other] = [meansOf(before), meansOf(after)];
  const differences = [...one]
    .flatMap(([item, was]) => {
      const is = other.get(item);
      return is === undefined ? [] : { item, reward: is.reward - was.reward, calls: is.calls - was.calls };
    })
    .toSorted((a, b) => (a.item < b.item ? -1 : 1));
  const count = (turn: Turn) => {
    const turned = differences.filter(({ reward }) => turnOf(reward) === turn);
    const calls = (sign: number) => turned.filter((one) => signOf(one.calls) === sign).length;
    return { fewer: calls(-1), same: calls(0), more: calls(1) };
  };
  return {
    items: differences.length,
    differences,
    counts: { better: count('better'), equal: count('equal'), worse: count('worse') },
    unmatched: one.size + other.size - 2 * differences.length,
  };
}

function meansOf(rollouts: readonly StudiedRollout[]) {
  const told = scoredOf(rollouts).filter(({ item }) => item !== null);
  return new Map(
    [...Map.groupBy(told, ({ item }) => item ?? '')].map(([item, copies]) => [
      item,
      {
        reward: mean(copies.map(({ ended }) => ended.score)) ?? 0,
        calls: mean(copies.map(({ calls }) => calls.length)) ?? 0,
      },
    ]),
  );
}

const signOf = (difference: number): number => (Math.abs(difference) <= epsilon ? 0 : Math.sign(difference));

const turnOf = (reward: number): Turn =>
  ({ [-1]: 'worse', 0: 'equal', 1: 'better' } as const)[signOf(reward) as -1 | 0 | 1];
