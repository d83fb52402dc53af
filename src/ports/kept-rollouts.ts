import type { Amounts } from '../model/amounts.ts';
import type { Item } from '../model/grader.ts';
import type { CallId } from '../model/ids.ts';
import type { RolloutKey } from '../model/rollout.ts';
import type { KeptText } from './fleet/calls.ts';

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
  /** How long its processes worked between calls. */
  readonly backgroundMs: number;
  /** What a grader finds in `$CORRAL_ROLLOUT`, as JSON text. */
  readonly document: string;
  /** JSON text: what its graders elsewhere were given of the policy's; left out where it has no such graders. */
  readonly artifacts?: string;
  /** What its task demanded beyond the environment's own amounts; left out where that is nothing. */
  readonly amounts?: Amounts;
};

/** Appends what is kept; what finds no room or no disk is told to the operator and lost, and never stops a grade. */
export type KeepRollout = (kept: KeptRollout) => void;

/**
 * What a rollout's artifacts are kept as, in the line of the rollout itself: so they rotate with it, and count among its
 * folder's bytes. `names`: as its environment asked for them.
 */
export type KeptArtifacts =
  | {
      readonly kind: 'taken';
      readonly names: readonly string[];
      readonly files: readonly KeptFile[];
      readonly changes?: KeptChanges;
    }
  /** There are none, or more than are kept. */
  | { readonly kind: 'none'; readonly reason: string };

type KeptFile = {
  readonly path: string;
  readonly executable: boolean;
  readonly mtime_s: number;
  readonly base64: string;
};

/** Of a grader with `changes`: absolute paths, as they are removed from and written into another sandbox of the image. */
export type KeptChanges = {
  readonly removed: readonly string[];
  readonly written: readonly {
    readonly path: string;
    readonly kind: 'file' | 'folder' | 'link';
    readonly mode: number;
    readonly mtime_s: number;
    readonly base64?: string;
    readonly target?: string;
  }[];
};

/** What `artifact_bytes` is unless an environment says otherwise. Gateways hold the text until the score is stored. */
export const mostKeptBytes = 8 * 1024 * 1024;
/** Those in base64, and a mebibyte for their paths: the policy names them, and up to 4,096 of them. */
export const mostKeptCharacters = Math.ceil((mostKeptBytes * 4) / 3) + 1024 * 1024;

/**
 * What a settled call asked for and returned, of an environment with `keep: all`: also of rollouts that run or were discarded.
 * A text is null if the process that settled the call does not have it.
 */
export type KeptCallText = {
  readonly atMs: number;
  readonly key: RolloutKey;
  readonly environment: string;
  readonly version: string;
  readonly call: CallId;
  readonly tool: string;
  readonly arguments: KeptText | null;
  readonly output: KeptText | null;
};

/** Appends it. A line that finds no room or no disk is counted and lost, and never delays a call. */
export type KeepCallText = (kept: KeptCallText) => void;
