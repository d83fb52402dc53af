import { monotonicMs } from '../clock.ts';

/** Placing some hundred files, or reading one number, in a sandbox whose memory the policy may have filled. */
const longestHelperMs = 60_000;
/** What a turn keeps of its time around the grader for its end: two kills of all that lives, one after a grader that ignores SIGTERM. */
const endMs = 10_000;

export type TurnLimits = {
  readonly timeoutMs: number;
  /** As in the request. */
  readonly maxPauseMs: number;
  /** As in the request; null: its gateway did not say. */
  readonly aroundMs: number | null;
};

/**
 * How long the helpers of a turn may take, so that the turn ends before its gateway gives up. The grader always has all of its own time:
 * cut short, it would be scored as a grader that timed out.
 */
export class TurnTime {
  readonly #limits: TurnLimits;
  readonly #nowMs: () => number;
  readonly #beganMs: number;

  constructor(limits: TurnLimits, nowMs: () => number = monotonicMs) {
    this.#limits = limits;
    this.#nowMs = nowMs;
    this.#beganMs = nowMs();
  }

  /** For the grader's files. */
  placingMs(): number {
    const { aroundMs } = this.#limits;
    return aroundMs === null ? longestHelperMs : this.#within(aroundMs - endMs);
  }

  /** For its score: also the time that the grader did not need. */
  collectingMs(): number {
    const { timeoutMs, maxPauseMs, aroundMs } = this.#limits;
    return aroundMs === null ? longestHelperMs : this.#within(timeoutMs + maxPauseMs + aroundMs);
  }

  #within(ms: number): number {
    const leftMs = this.#beganMs + ms - this.#nowMs();
    return Math.max(1, Math.min(longestHelperMs, Math.floor(leftMs)));
  }
}
