import { parseAmount } from './parse-amount.ts';
import type { Amount } from './parse-amount.ts';

export type Tolerance = { readonly tolerance: number; readonly partialWithin: number };

/** What arithmetic in binary loses (1.1 / 100 is not 0.011); far below any tolerance that an author means. */
const roundingError = 1e-9;

/**
 * How near an answer's number is to the reference's: 1 inside the relative tolerance, 0 from `partialWithin` on, and a
 * straight line between. No number in either, or two different units, is 0. Beside a reference of 0, distance is absolute.
 */
export function closeness(answer: string, reference: string, within: Tolerance): number {
  const given = parseAmount(answer);
  const wanted = parseAmount(reference);
  if (given === null || wanted === null || unitsDiffer(given, wanted)) return 0;
  const scale = wanted.value === 0 ? 1 : Math.abs(wanted.value);
  return credit(Math.abs(given.value - wanted.value) / scale, within);
}

function credit(distance: number, { tolerance, partialWithin }: Tolerance): number {
  if (distance <= tolerance + roundingError) return 1;
  if (!(distance < partialWithin)) return 0;
  return (partialWithin - distance) / (partialWithin - tolerance);
}

/** A unit on one side only is tolerated: "32" answers "$32". */
const unitsDiffer = (a: Amount, b: Amount): boolean =>
  a.unit !== null && b.unit !== null && a.unit !== b.unit;
