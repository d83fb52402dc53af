import { randomInt } from 'node:crypto';
import type { Random } from '../ports/random.ts';

const alphabet = '0123456789abcdefghijklmnopqrstuvwxyz';

/** `randomInt` takes ranges below 2^48; that many steps are finer than any use of a fraction here. */
const steps = 2 ** 47;

/** Chance from the operating system: ids made of it cannot be guessed. */
export const systemRandom: Random = {
  next: () => randomInt(steps) / steps,
  text: (length) => Array.from({ length }, () => alphabet.charAt(randomInt(alphabet.length))).join(''),
};
