import { InvalidArgumentError } from 'commander';

/** Reads a whole number for commander. */
export function wholeFrom(least: number): (text: string) => number {
  return checked((value) => Number.isInteger(value) && value >= least, `A whole number of at least ${least}`);
}

/** Reads a number, fractions too, for commander. */
export function above(bound: number): (text: string) => number {
  return checked((value) => Number.isFinite(value) && value > bound, `A number above ${bound}`);
}

function checked(fits: (value: number) => boolean, wanted: string): (text: string) => number {
  return (text) => {
    const value = text.trim() === '' ? Number.NaN : Number(text);
    if (fits(value)) return value;
    throw new InvalidArgumentError(`${wanted} is expected.`);
  };
}
