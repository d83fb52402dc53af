import { at, type Prompt, promptFields } from '#src/model/dataset.ts';
import type { Item } from '#src/model/grader.ts';
import { type Overlap, overlapOf } from '../rows/overlap.ts';
import { type AlikePair, alikePairs, wordedRows } from './likeness.ts';

export type DatasetStudy = {
  readonly rows: number;
  /** Rows that are nearly the same as another one. */
  readonly nearDuplicates: number;
  readonly pairs: readonly AlikePair[];
  /** Null: no rows of an evaluation were given. */
  readonly overlap: EvalOverlap | null;
};

export type EvalOverlap = {
  readonly evalRows: number;
  /** Rows of the evaluation that are nearly one of training. */
  readonly alike: number;
  readonly pairs: readonly AlikePair[];
  /** What both have in common exactly: ids, whole rows, prompts, and where they come from. */
  readonly shared: readonly Overlap[];
  /** Fields by which it was looked where rows come from. */
  readonly origins: readonly string[];
};

export type SeenSo = {
  /** What the grader alone sees. */
  readonly hidden: readonly string[];
  /** Fields that rows of both must not share; none: those that are called so. */
  readonly origins: readonly string[];
  /** What the model is told; absent: perhaps all fields. */
  readonly prompt?: Prompt;
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

/** `evaluation`: null where none are kept for it. */
export function studyDataset(
  train: readonly Item[],
  evaluation: readonly Item[] | null,
  so: SeenSo,
): DatasetStudy {
  const rows = wordsSeen(train, so);
  const pairs = alikePairs(rows);
  return {
    rows: train.length,
    nearDuplicates: new Set(pairs.flatMap(({ one, other }) => [one, other])).size,
    pairs: pairs.slice(0, pairsTold),
    overlap: evaluation === null ? null : overlapWith(train, evaluation, so),
  };
}

/** Of a prompt, the row's own fields in it: its other words are in every row, and would make all of them alike. */
const wordsSeen = (items: readonly Item[], { hidden, prompt }: SeenSo) =>
  wordedRows(items, hidden, prompt === undefined ? null : promptFields(prompt));

const has = (items: readonly Item[], field: string): boolean =>
  items.some((item) => at(item, field) !== undefined);

function overlapWith(train: readonly Item[], evaluation: readonly Item[], so: SeenSo): EvalOverlap {
  const across = alikePairs(wordsSeen(train, so), wordsSeen(evaluation, so));
  const usual = originNames.filter((field) => has(train, field) && has(evaluation, field));
  const origins = so.origins.length > 0 ? so.origins : usual;
  const { prompt } = so;
  return {
    evalRows: evaluation.length,
    alike: new Set(across.map(({ other }) => other)).size,
    pairs: across.slice(0, pairsTold),
    shared: overlapOf(train, evaluation, { disjoint: origins, ...(prompt === undefined ? {} : { prompt }) }),
    origins,
  };
}
