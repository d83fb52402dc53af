import { at, type Prompt, promptFields } from '#src/model/dataset.ts';
import type { Item, Json } from '#src/model/grader.ts';
import { type Overlap, overlapOf } from '../rows/overlap.ts';

export type DatasetStudy = {
  readonly rows: number;
  /** Rows that are nearly the same as another one. */
  readonly nearDuplicates: number;
  readonly pairs: readonly AlikePair[];
  /** Null: no rows of an evaluation were given. */
  readonly overlap: EvalOverlap | null;
};

type EvalOverlap = {
  readonly evalRows: number;
  /** Rows of the evaluation that are nearly one of training. */
  readonly alike: number;
  readonly pairs: readonly AlikePair[];
  /** What both have in common exactly: ids, whole rows, prompts, and where they come from. */
  readonly shared: readonly Overlap[];
  /** Fields by which it was looked where rows come from. */
  readonly origins: readonly string[];
};

type SeenSo = {
  /** What the grader alone sees. */
  readonly hidden: readonly string[];
  /** Fields that rows of both must not share; empty: the fields declared disjoint. */
  readonly origins: readonly string[];
  /** The model's prompt; absent: perhaps all fields. */
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

/*
 * Rows that are nearly the same text. A dataset with the same question twice pays twice for what it teaches once; one that has
 * a question of the evaluation among its training rows has its answer learnt by heart, and the evaluation measures memory.
 */

/** A row as words: its part of the prompt, without its id and without the truth. */
export type WordedRow = { readonly name: string; readonly words: readonly string[] };

/** `hidden`: fields that no model sees. `told`: paths of visible fields; null: all others. A row without an id is named by its place. */
function wordedRows(
  items: readonly Item[],
  hidden: readonly string[],
  told: readonly string[] | null,
): readonly WordedRow[] {
  const unseen = new Set(['id', ...hidden]);
  return items.map((item, index) => {
    const fields = told ?? Object.keys(item).filter((field) => !unseen.has(field));
    const { id = null } = item;
    const name = typeof id === 'string' || typeof id === 'number' ? String(id) : `row ${index + 1}`;
    return { name, words: wordsOf(fields.map((field) => textIn(at(item, field) ?? null)).join(' ')) };
  });
}

/** Figures and case stay: two questions that differ in the year are two questions. */
const wordsOf = (text: string): readonly string[] => text.match(/[\p{L}\p{N}]+/gu) ?? [];

function textIn(value: Json): string {
  if (typeof value !== 'object' || value === null) return String(value ?? '');
  return Object.values(value)
    .map((each: Json) => textIn(each))
    .join(' ');
}

type AlikePair = { readonly one: string; readonly other: string; readonly likeness: number };

/** Three words in a row: one changed word of ten changes three of eight, so short questions must be the same to be alike. */
const shingleWords = 3;
/** Of the shingles that either has, so many are in both. */
export const likenessBound = 0.8;

/**
 * Rows that are alike, found without comparing each with each: two sets that share so much must share one of their rarest few.
 * With `others`, pairs of one from either list; else pairs among `rows`, where a row that is the same as an earlier one is
 * paired with that alone: a thousand of the same would be half a million pairs. The most alike first.
 */
export function alikePairs(rows: readonly WordedRow[], others?: readonly WordedRow[]): readonly AlikePair[] {
  const { firsts, repeats } = withoutRepeats(rows);
  const all = [...firsts, ...(others ?? [])];
  const sets = rarestFirst(all.map(({ words }) => shinglesOf(words)));
  const ownersOf = new Map<string, number[]>();
  const pairs: AlikePair[] = others === undefined ? [...repeats] : [];
  for (const [index, shingles] of sets.entries()) {
    for (const candidate of candidatesOf(shingles, index, ownersOf)) {
      if (others !== undefined && candidate < firsts.length === index < firsts.length) continue;
      const likeness = jaccard(sets[candidate] ?? [], shingles);
      if (likeness >= likenessBound)
        pairs.push({ one: all[candidate]?.name ?? '', other: all[index]?.name ?? '', likeness });
    }
  }
  return pairs.toSorted((a, b) => b.likeness - a.likeness || (a.one + a.other < b.one + b.other ? -1 : 1));
}

function withoutRepeats(rows: readonly WordedRow[]) {
  const alike = [...Map.groupBy(rows, ({ words }) => words.join(' ')).values()];
  const firsts = alike.flatMap(([first]) => first ?? []);
  // Of no words nothing can be said.
  const told = alike.filter(([first]) => first !== undefined && first.words.length > 0);
  const repeats = told.flatMap(([first, ...again]) =>
    again.map(({ name }): AlikePair => ({ one: first?.name ?? '', other: name, likeness: 1 })),
  );
  return { firsts, repeats };
}

/** Earlier sets that have one of the rarest shingles; this one is entered behind them. */
function candidatesOf(
  shingles: readonly string[],
  index: number,
  ownersOf: Map<string, number[]>,
): ReadonlySet<number> {
  const candidates = new Set<number>();
  for (const shingle of prefixOf(shingles)) {
    const owners = ownersOf.get(shingle) ?? [];
    for (const owner of owners) candidates.add(owner);
    owners.push(index);
    ownersOf.set(shingle, owners);
  }
  return candidates;
}

export function shinglesOf(words: readonly string[]): ReadonlySet<string> {
  if (words.length <= shingleWords) return new Set(words.length === 0 ? [] : [words.join(' ')]);
  return new Set(words.slice(shingleWords - 1).map((_, at) => words.slice(at, at + shingleWords).join(' ')));
}

/** Each set in one order that all share, the rarest shingle first. */
function rarestFirst(sets: readonly ReadonlySet<string>[]): readonly (readonly string[])[] {
  const counts = new Map<string, number>();
  for (const set of sets) for (const shingle of set) counts.set(shingle, (counts.get(shingle) ?? 0) + 1);
  const rarity = (shingle: string) => counts.get(shingle) ?? 0;
  return sets.map((set) => [...set].toSorted((a, b) => rarity(a) - rarity(b) || (a < b ? -1 : 1)));
}

/** Sets that share the bound of their union share one of these: beyond them, too few are left. */
const prefixOf = (shingles: readonly string[]): readonly string[] =>
  shingles.slice(0, shingles.length - Math.ceil(likenessBound * shingles.length) + 1);

export function jaccard(one: readonly string[], other: readonly string[]): number {
  const has = new Set(one);
  const shared = other.filter((each) => has.has(each)).length;
  const union = has.size + other.length - shared;
  return union === 0 ? 0 : shared / union;
}
