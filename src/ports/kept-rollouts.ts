import type { Item } from '../model/grader.ts';
import type { RolloutKey } from '../model/rollout.ts';

/**
 * A graded rollout as its grader saw it, for a newer grader to look at: it holds the truth of its row, so it lies where the
 * operator's own files lie, and no address of a fleet tells it to anybody.
 */
export type KeptRollout = {
  readonly atMs: number;
  readonly key: RolloutKey;
  readonly environment: string;
  readonly version: string;
  readonly item: Item | null;
  readonly score: number;
  /** Counted against the policy's budget. */
  readonly toolCalls: number;
  /** What a grader finds in `$CORRAL_ROLLOUT`, as JSON text. */
  readonly document: string;
  /** JSON text: what its graders elsewhere were given of the policy's; left out where it has no such graders. */
  readonly artifacts?: string;
};

/** Appends what is kept; what finds no room or no disk is told to the operator and lost, and never stops a grade. */
export type KeepRollout = (kept: KeptRollout) => void;
