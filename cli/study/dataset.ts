import type { Item } from '#src/model/grader.ts';
import { type AlikePair, alikePairs, wordedRows } from './likeness.ts';

export type DatasetStudy = {
  readonly rows: number;
  /** Rows that are nearly the same as another one. */
  readonly nearDuplicates: number;
  readonly pairs: readonly AlikePair[];
  /** Null: no rows of an evaluation were given. */
  readonly overlap: Overlap | null;
};

export type Overlap = {
  readonly evalRows: number;
  /** Rows of the evaluation that are nearly one of training. */
  readonly alike: number;
  readonly pairs: readonly AlikePair[];
  /** Where rows come from, by fields that tell it. */
  readonly fields: readonly SharedField[];
};

export type SharedField = {
  readonly field: string;
  /** Values that rows of both have. */
  readonly shared: number;
  readonly values: number;
  /** Rows of the evaluation that have one of those. */
  readonly evalRows: number;
  readonly examples: readonly string[];
};

/** What tells where a row comes from, by the names that datasets use. */
const originNames = [
  'document',
  'documents',
  'repository',
  'repo',
  'page',
  'path',
  'package',
  'company',
  'patient',
  'source',
];
const pairsTold = 5;

/** `hidden`: what the grader alone sees. `origins`: fields that rows must not share; none: those that are called so. */
export function studyDataset(
  train: readonly Item[],
  evaluation: readonly Item[] | null,
  { hidden, origins }: { readonly hidden: readonly string[]; readonly origins: readonly string[] },
): DatasetStudy {
  const rows = wordedRows(train, hidden);
  const pairs = alikePairs(rows);
  return {
    rows: train.length,
    nearDuplicates: new Set(pairs.flatMap(({ one, other }) => [one, other])).size,
    pairs: pairs.slice(0, pairsTold),
    overlap: evaluation === null ? null : overlapOf(),
  };

  function overlapOf(): Overlap {
    const others = evaluation ?? [];
    const across = alikePairs(rows, wordedRows(others, hidden));
    const fields = origins.length > 0 ? origins : originNames;
    return {
      evalRows: others.length,
      alike: new Set(across.map(({ other }) => other)).size,
      pairs: across.slice(0, pairsTold),
      fields: fields.flatMap((field) => sharedField(field, train, others) ?? []),
    };
  }
}

function sharedField(field: string, train: readonly Item[], evaluation: readonly Item[]): SharedField | null {
  const [ours, theirs] = [valuesOf(train, field), valuesOf(evaluation, field)];
  if (ours.length === 0 || theirs.length === 0) return null;
  const known = new Set(ours.flat());
  const shared = [...new Set(theirs.flat())].filter((value) => known.has(value)).toSorted();
  return {
    field,
    shared: shared.length,
    values: new Set([...ours.flat(), ...theirs.flat()]).size,
    evalRows: theirs.filter((values) => values.some((value) => known.has(value))).length,
    examples: shared.slice(0, pairsTold),
  };
}

/** Of rows that have it: one value, or a list of some. */
const valuesOf = (items: readonly Item[], field: string): readonly (readonly string[])[] =>
  items.flatMap((item) => {
    const value = item[field];
    if (value === undefined || value === null) return [];
    const list = Array.isArray(value) ? value : [value];
    return [list.map((each) => (typeof each === 'string' ? each : JSON.stringify(each)))];
  });
