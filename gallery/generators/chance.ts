/**
 * Chance for what is generated: the same seed makes the same data on every machine. It imports nothing, because builds of
 * data see their inputs and nothing else of the project.
 */
export type Chance = {
  /** Uniform in [0, 1). */
  next(): number;
  /** True so often, 0 to 1. */
  happens(share: number): boolean;
  /** Both ends included. */
  integer(low: number, high: number): number;
  between(low: number, high: number): number;
  pick<Value>(values: readonly [Value, ...Value[]]): Value;
  /** At most `count` of them, none twice, in an order of chance. */
  some<Value>(values: readonly Value[], count: number): readonly Value[];
};

export function chanceOf(seed: string): Chance {
  const next = sequence(seed);
  const integer = (low: number, high: number) => low + Math.floor(next() * (high - low + 1));
  return {
    next,
    happens: (share) => next() < share,
    integer,
    between: (low, high) => low + next() * (high - low),
    pick: (values) => values[integer(0, values.length - 1)] ?? values[0],
    some: (values, count) => {
      if (count * 8 > values.length) return shuffled(values, next).slice(0, count);
      // Of many a few: drawn again where one was drawn before, instead of shuffling all.
      const places = new Set<number>();
      while (places.size < count) places.add(integer(0, values.length - 1));
      return [...places].flatMap((place) => values.slice(place, place + 1));
    },
  };
}

const shuffled = <Value>(values: readonly Value[], next: () => number): readonly Value[] =>
  values
    .map((value) => ({ value, place: next() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ value }) => value);

/** FNV-1a of the seed, then Weyl steps that are mixed twice: plenty to choose among some thousand things. */
function sequence(seed: string): () => number {
  let state = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(seed)) state = Math.imul(state ^ byte, 0x01000193);
  return () => {
    state = (state + 0x9e3779b9) | 0;
    const once = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    const twice = Math.imul(once ^ (once >>> 15), 0x735a2d97);
    return ((twice ^ (twice >>> 15)) >>> 0) / 2 ** 32;
  };
}
