import type { Operation } from '../operations.ts';
import type { Inputs } from './measure.ts';

/* Whether a kernel is right, and what its speed is worth. */

/** Of the greatest value of the row: float kernels that add in another order stay far below. */
const tolerance = 2e-4;

/** Whether each row is near what double precision gives; poison and NaN are never near. */
export function isRight(operation: Operation, { rows, cols, x, w }: Inputs, out: Float32Array): boolean {
  const weights = [...w];
  return Array.from({ length: rows }, (_, row) => row).every((row) => {
    const expected = operation.row([...x.subarray(row * cols, (row + 1) * cols)], weights);
    const most = Math.max(...expected.map((each) => Math.abs(each)));
    return expected.every(
      (value, column) => Math.abs((out[row * cols + column] ?? NaN) - value) <= tolerance * most,
    );
  });
}

/** 0 for the reference's own speed, 1 for the full speedup; each doubling is worth the same. */
export function speedScore({ fullSpeedup }: Operation, referenceCost: number, cost: number): number {
  const share = Math.log(referenceCost / cost) / Math.log(fullSpeedup);
  return Math.round(Math.min(1, Math.max(0, share)) * 1000) / 1000;
}
