import type { Random } from '#src/ports/random.ts';

const letters = '0123456789abcdefghijklmnopqrstuvwxyz';

/**
 * Chance that can be had again: the same name gives the same draws. Every part of the world draws from a stream of its
 * own, so that one more draw in one place does not change what all others see.
 */
export class Chance implements Random {
  readonly #name: string;
  #state: number;

  constructor(name: string) {
    this.#name = name;
    this.#state = hashText(name);
  }

  /** A stream of its own for a part of the world. */
  fork(part: string): Chance {
    return new Chance(`${this.#name}/${part}`);
  }

  /** Mulberry32: 32 bits of state are plenty for some thousand draws, and it is fast. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  happens(probability: number): boolean {
    return this.next() < probability;
  }

  pick<Value>(from: readonly Value[]): Value {
    const picked = from[this.between(0, from.length - 1)];
    if (picked === undefined) throw new RangeError('nothing to pick from');
    return picked;
  }

  text(length: number): string {
    return Array.from({ length }, () => letters[this.between(0, letters.length - 1)]).join('');
  }
}

/** FNV-1a, which spreads names that differ in one digit only. */
export function hashText(text: string, from = 0x811c9dc5): number {
  let hash = from;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}
