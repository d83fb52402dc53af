import type { Grader } from './grader.ts';
import { graderLeaves, referenceOf } from './grader-leaves.ts';

/** The one field of a dataset row that is ours and not the task's: what `corral ladder` tries on it. No sandbox sees it. */
export const reservedField = 'corral';

/**
 * The item's top-level fields that a grader compares with, without repeats: what must be in every row, and what the
 * sandbox must never see. `command` and `http` graders get the whole item, so what they read cannot be told from here.
 */
export function graderFields(grader: Grader): readonly string[] {
  const references = graderLeaves(grader).flatMap((leaf) => referenceOf(leaf) ?? []);
  return [...new Set(references.map(topLevelField))];
}

/** The field of `item.files` or `item.answer.files`: what holds the reference in the row. */
export function topLevelField(reference: string): string {
  return reference.split('.')[1] ?? '';
}
