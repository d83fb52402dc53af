import { type Static, Type } from 'typebox';
import { MissingLog, nullable, NumberOrNull, TextOrNull } from './parts.ts';

const Numbers = Type.Array(Type.Number());
const NumbersOrNull = Type.Array(NumberOrNull);
const Texts = Type.Array(Type.String());

/** Rollouts that opened together. Reward figures are over scores, never over discards. */
export const StepLine = Type.Object({
  at_ms: Type.Number(),
  rollouts: Type.Number(),
  scored: Type.Number(),
  mean: NumberOrNull,
  /** Mean standard deviation within groups of one item. */
  spread: NumberOrNull,
  /** Mean of the best of each group. */
  best: NumberOrNull,
  calls_p95: Type.Number(),
  /** Mean calls a rollout by verb, in the order of `verbs`; the last is all others. */
  verbs: Numbers,
  output_median: Type.Number(),
  output_p95: Type.Number(),
  lost: Type.Object({
    infrastructure: Type.Number(),
    caller: Type.Number(),
    model: Type.Number(),
    /** Of all of them: a command may have caused the loss. */
    suspected: Type.Number(),
  }),
});
export type StepLine = Static<typeof StepLine>;

/** Copies of one item in one step. */
export const Cell = nullable(
  Type.Object({ n: Type.Number(), mean: NumberOrNull, spread: NumberOrNull, lost: Type.Number() }),
);
export type Cell = Static<typeof Cell>;

/** `rows`: which rollouts it is about, as places in the columns of the same answer. */
const FindingLine = Type.Object({
  kind: Type.String(),
  weight: Type.Union([Type.Literal('bad'), Type.Literal('look')]),
  title: Type.String(),
  what: TextOrNull,
  text: Type.String(),
  rollouts: Type.Number(),
  rows: Numbers,
  /** How many of them each step has. */
  by_step: Numbers,
});
export type FindingLine = Static<typeof FindingLine>;

export const PlaceLine = Type.Object({
  place: Type.String(),
  first_step: Type.Number(),
  /** Share of the rollouts of each step. */
  shares: Numbers,
  /** Mean reward above the other rollouts of the same group. */
  gain: NumberOrNull,
});
export type PlaceLine = Static<typeof PlaceLine>;

export const PartLine = Type.Object({ part: Type.String(), means: NumbersOrNull });
export type PartLine = Static<typeof PartLine>;

/**
 * A value a rollout, in the order in which they opened. `item`: place in `items`, -1: not known. `strip`: a letter for each of its
 * first calls, `a` for the first of `verbs`, a capital for a failed one.
 */
export const Columns = Type.Object({
  id: Texts,
  attempt: Numbers,
  item: Numbers,
  step: Numbers,
  score: NumbersOrNull,
  gain: NumbersOrNull,
  code: Type.Array(TextOrNull),
  suspected: Type.Array(Type.Boolean()),
  calls: Numbers,
  strip: Texts,
  opened_at_ms: Numbers,
  took_ms: NumbersOrNull,
  output_bytes: Numbers,
});
export type Columns = Static<typeof Columns>;

/** A run as its event logs have it. It changes only with `rev`. */
export const RunAnswer = Type.Object({
  run: Type.String(),
  rev: Type.Number(),
  /** Logs are still being read: more rollouts are about to come. */
  reading: Type.Boolean(),
  environment: Type.String(),
  version: Type.String(),
  counts: Type.Object({
    rollouts: Type.Number(),
    unfinished: Type.Number(),
    scored: Type.Number(),
    discarded: Type.Number(),
    voided: Type.Number(),
    calls: Type.Number(),
  }),
  since_ms: NumberOrNull,
  until_ms: NumberOrNull,
  mean: NumberOrNull,
  steps: Type.Array(StepLine),
  verbs: Texts,
  items: Texts,
  /** By item, then by step. */
  cells: Type.Array(Type.Array(Cell)),
  /** How often a call of one verb follows another, by `verbs`. */
  pairs: Type.Array(Numbers),
  places: Type.Array(PlaceLine),
  parts: Type.Array(PartLine),
  findings: Type.Array(FindingLine),
  missing: Type.Array(MissingLog),
  columns: Columns,
});
export type RunAnswer = Static<typeof RunAnswer>;

export const SearchAnswer = Type.Object({
  rows: Numbers,
  rev: Type.Number(),
  /** How many more rollouts match. */
  left_out: Type.Number(),
  /** If outputs were searched, too: of how many rollouts some are kept, and whether all of these were read. */
  outputs: Type.Optional(Type.Object({ rollouts: Type.Number(), whole: Type.Boolean() })),
});
export type SearchAnswer = Static<typeof SearchAnswer>;
