import type { Grader } from './grader.ts';

/** The one field of a dataset row that is ours and not the task's: what `corral ladder` tries on it. No sandbox sees it. */
export const reservedField = 'corral';

/**
 * The item's top-level fields that a grader compares with, without repeats: what must be in every row, and what the
 * sandbox must never see. `command` and `http` graders get the whole item, so what they read cannot be told from here.
 */
export function graderFields(grader: Grader): readonly string[] {
  return [...new Set(references(grader).map(topLevelField))];
}

/** The field of `item.files` or `item.answer.files`: what holds the reference in the row. */
export function topLevelField(reference: string): string {
  return reference.split('.')[1] ?? '';
}

function references(grader: Grader): readonly string[] {
  switch (grader.kind) {
    case 'f1':
    case 'recall':
    case 'text':
      return [grader.reference];
    case 'calls':
      return grader.asks === 'opened' ? [grader.reference] : [];
    case 'none':
    case 'command':
    case 'http':
      return [];
    case 'gate':
      return [...grader.all, grader.grader].flatMap(references);
    case 'weighted':
      return grader.parts.flatMap((part) => references(part.grader));
    case 'penalty':
      return references(grader.grader);
  }
}
