import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { slowest } from '../suites.ts';

/**
 * Starts the slowest files first, so that no worker plays one alone at the end. Vitest sorts by the durations of the last
 * run, which a fresh clone does not have.
 */
export default class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((one, other) => placeOf(one) - placeOf(other));
  }
}

/** Other files keep their order, after the listed files. */
function placeOf({ moduleId }: TestSpecification): number {
  const at = slowest.findIndex((file) => moduleId.endsWith(file));
  return at === -1 ? slowest.length : at;
}
