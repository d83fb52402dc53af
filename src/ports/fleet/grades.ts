import type { FailureCode } from '#src/failure/codes.ts';
import type { Evidence } from '#src/failure/failure.ts';
import type { SandboxId } from '#src/model/ids.ts';
import type { RolloutKey } from '#src/model/rollout.ts';
import type { RolloutRecord } from './records.ts';

/** Who asks for a turn of grading, and for what. */
export type GradeAsk = {
  /** A name of the asking's own: the turn that was given to it is given to it again, should the answer have been lost. */
  readonly by: string;
  readonly gradeMs: number;
  /** Its grader works in the rollout's sandbox. */
  readonly inSandbox: boolean;
  /** The one that it was seen to live in. */
  readonly seenIn: SandboxId | null;
};

/** Grading: one at a time, a stored score is never recomputed. One script a method; errors as in `claims.ts`. */
export interface GradeStore {
  /** Moves the rollout to `grading`. From then on new call ids are refused. */
  begin(key: RolloutKey, ask: GradeAsk): Promise<GradeBegin>;
  /** Stores the score of grading `turn` once; on the RFT face this closes the rollout. Null: it has forgotten the turn, or the rollout. */
  score(
    key: RolloutKey,
    turn: number,
    score: number,
    detail: Evidence,
  ): Promise<{ readonly first: boolean; readonly score: number } | null>;
  /**
   * Calls that the platform names never arrived, so it can never be scored; a verdict that stands stays. `first`: this has decided it.
   * `rollout` null: it is not known.
   */
  discard(
    key: RolloutKey,
    code: FailureCode,
    evidence: Evidence,
  ): Promise<{ readonly first: boolean; readonly rollout: RolloutRecord | null }>;
  /** The judge of this turn is not to be believed: the rollout is discarded as `judge_suspect`. `first`: this has decided it. */
  distrust(
    key: RolloutKey,
    turn: number,
    evidence: Evidence,
  ): Promise<{ readonly first: boolean; readonly rollout: RolloutRecord | null }>;
  /** What the graders of this turn look at is taken: while it lasts, a loss of the rollout's sandbox is none. */
  artifactsTaken(key: RolloutKey, turn: number): Promise<void>;
  /** This turn is done with its grader's sandbox, or its place in line. Again, and too late, is fine. */
  releaseGrader(key: RolloutKey, turn: number): Promise<void>;
  /** This turn failed; another may run, three at most. The last one discards the rollout. */
  failed(
    key: RolloutKey,
    turn: number,
    evidence: Evidence,
  ): Promise<{ readonly turnsLeft: number; readonly rollout: RolloutRecord | null }>;
}

export type GradeBegin =
  | { readonly kind: 'run'; readonly turn: number; readonly rollout: RolloutRecord }
  /**
   * Dispatched calls are still running, another request grades, or the sandbox's journal was not read since Redis was
   * replaced: ask again in a moment.
   */
  | { readonly kind: 'wait'; readonly for: 'calls' | 'grader' | 'journal' }
  | { readonly kind: 'scored'; readonly score: number; readonly rollout: RolloutRecord }
  /** It does not live there, or not any more: obtain its sandbox, then come back. */
  | { readonly kind: 'waiting' }
  /**
   * The veto: discarded (its code), expired, or closed without a score. `first`: this has discarded the rollout, because the last turn
   * ended without a report, or its set-up was not replayed yet.
   */
  | {
      readonly kind: 'barred';
      readonly code: FailureCode;
      readonly first: boolean;
      readonly rollout: RolloutRecord | null;
    };
