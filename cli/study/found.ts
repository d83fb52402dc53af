import type { Burst } from './burst.ts';
import type { Quadrants } from './compare.ts';
import type { DatasetStudy } from './dataset.ts';
import type { Ceiling, Loss, Subject } from './rollout.ts';
import type { BestOfK, ItemSpread, Level, PartSpread, Shares } from './spread.ts';
import type { Traces } from './traces.ts';

/** What is said of one policy, model or run. */
export type SubjectStudy = {
  readonly name: string;
  readonly what: Subject['what'];
  readonly rollouts: number;
  readonly scored: number;
  readonly ungraded: number;
  /** Apart from everything else: never a zero. */
  readonly discarded: Discards;
  readonly mean: number | null;
  readonly deviation: number | null;
  readonly shares: Shares;
  readonly items: readonly ItemSpread[];
  /** Rollouts without a known item. */
  readonly withoutItem: number;
  /** Each item's copies made the same calls and were paid the same: a script without chance, which cannot have spread. */
  readonly withoutChance: boolean;
  readonly bestOfK: readonly BestOfK[];
  readonly levels: readonly Level[];
  readonly traces: Traces;
  readonly latency: Latency;
  readonly parts: readonly PartSpread[];
  readonly writtenTokens: { readonly mean: number; readonly p95: number } | null;
};

export type Discards = {
  readonly rollouts: number;
  readonly causes: readonly (Loss & { readonly rollouts: number })[];
};

export type Latency = {
  readonly points: readonly { readonly seconds: number; readonly score: number }[];
  /** From -1 to 1; null where either never differs. */
  readonly correlation: number | null;
  readonly p95: number | null;
};

export type Study = {
  readonly environment: string;
  /** The first is the one that the headline is about. */
  readonly subjects: readonly SubjectStudy[];
  /** All policies as if one model had played them; null where there is one alone. */
  readonly together: { readonly names: readonly string[]; readonly shares: Shares } | null;
  readonly dataset: DatasetStudy | null;
  readonly ceilings: readonly Ceiling[];
  readonly against: { readonly before: string; readonly after: string; readonly quadrants: Quadrants } | null;
  readonly burst: Burst | null;
  /** What was not told, and by whom. */
  readonly missing: readonly string[];
  readonly advice: readonly Advice[];
};

export type Topic =
  | 'spread'
  | 'together'
  | 'best of k'
  | 'levels'
  | 'baseline'
  | 'ceiling'
  | 'discards'
  | 'duplicates'
  | 'overlap'
  | 'calls'
  | 'outputs'
  | 'repeats'
  | 'latency'
  | 'parts'
  | 'against'
  | 'burst'
  | 'cost';

export type Advice = {
  readonly topic: Topic;
  /** `bad`: fix it before a run is paid for. `look`: a person should decide. */
  readonly weight: 'good' | 'look' | 'bad';
  readonly found: string;
  /** Null: nothing is to be done. */
  readonly todo: string | null;
};

export type Looked = Omit<Study, 'advice'>;
