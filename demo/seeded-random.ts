import type { Random } from '#src/ports/random.ts';

const alphabet = '0123456789abcdefghijklmnopqrstuvwxyz';

/** Chance that repeats: the same seed text gives the same numbers on every machine. Not for secrets. */
export function seededRandom(seed: string): Random {
  let state = hashOf(seed);
  const next = (): number => {
    // Mulberry32: 32 bits of state are plenty for choosing among a handful of files.
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const character = (): string => alphabet.charAt(Math.floor(next() * alphabet.length));
  return { next, text: (length) => Array.from({ length }, character).join('') };
}

/** The same list in an order that `random` decides. */
export function shuffled<Value>(values: readonly Value[], random: Random): readonly Value[] {
  return values
    .map((value) => ({ value, place: random.next() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ value }) => value);
}

/** FNV-1a, 32 bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}
