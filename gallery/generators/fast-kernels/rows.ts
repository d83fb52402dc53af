import { chanceOf } from '../chance.ts';
import { naiveSource, operations } from './operations.ts';

const rowsOfEach = { train: 180, eval: 52 } as const;

/** Operations in many shapes; none is in both splits. */
export function kernelRows(): { readonly train: readonly object[]; readonly eval: readonly object[] } {
  return { train: rowsOf('train'), eval: rowsOf('eval') };
}

const rowsOf = (split: 'train' | 'eval') =>
  operations
    .filter((operation) => operation.split === split)
    .flatMap((operation) =>
      Array.from({ length: rowsOfEach[split] }, (_, index) => {
        const id = `${operation.name}-${index + 1}`;
        const chance = chanceOf(id);
        // What is left over of eight would count for more in narrow rows, so speed is measured without.
        const [rows, cols] = [chance.integer(16, 40), 8 * chance.integer(32, 100)];
        const { name, formula } = operation;
        return { id, operation: name, rows, cols, formula, reference: naiveSource(operation) };
      }),
    );
