import type { Random } from '#src/ports/random.ts';

/** Chance that counts: ids are 1, 2, 3… padded to their length, fractions the given ones in turn (default ½). */
export function createFakeRandom(fractions: readonly number[] = [0.5]): Random {
  let ids = 0;
  let draws = 0;
  return {
    next: () => {
      const fraction = fractions[draws % fractions.length] ?? 0.5;
      draws += 1;
      return fraction;
    },
    text: (length) => {
      ids += 1;
      return ids.toString(36).padStart(length, '0').slice(-length);
    },
  };
}
