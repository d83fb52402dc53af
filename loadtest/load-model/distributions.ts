import type { Random } from '#src/ports/random.ts';

/** A lognormal by its median, in the unit of what it measures, and the sigma of its logarithm. */
export type Lognormal = { readonly median: number; readonly sigma: number };

export function drawLognormal(random: Random, { median, sigma }: Lognormal): number {
  return median * Math.exp(sigma * drawNormal(random));
}

/** Standard normal, by Box and Muller. */
function drawNormal(random: Random): number {
  // A zero has no logarithm; one minus a number below one never is.
  const radius = Math.sqrt(-2 * Math.log(1 - random.next()));
  return radius * Math.cos(2 * Math.PI * random.next());
}

/** One of the values, each as likely as its share; the shares sum to 1, and the last value takes what rounding leaves. */
export function drawOne<Value>(
  random: Random,
  shares: readonly [...(readonly (readonly [Value, number])[]), readonly [Value, number]],
): Value {
  let left = random.next();
  for (const [value, share] of shares) {
    if (left < share) return value;
    left -= share;
  }
  const [last] = shares[shares.length - 1] ?? shares[0];
  return last;
}

export function drawBetween(random: Random, least: number, most: number): number {
  return least + random.next() * (most - least);
}

/** A whole number from `least` to `most`, both included. */
export function drawWhole(random: Random, least: number, most: number): number {
  return Math.floor(drawBetween(random, least, most + 1));
}

export function happens(random: Random, share: number): boolean {
  return random.next() < share;
}

export function clip(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value));
}
