import { chanceOf } from '../../chance.ts';
import type { Inputs } from './measure.ts';

export type Shape = { readonly rows: number; readonly cols: number };

/** The same inputs for the same seed; values of the size that activations have. */
export function inputsOf(seed: string, { rows, cols }: Shape): Inputs {
  const chance = chanceOf(seed);
  const values = (count: number) => Float32Array.from({ length: count }, () => chance.between(-3, 3));
  return { rows, cols, x: values(rows * cols), w: values(cols) };
}
