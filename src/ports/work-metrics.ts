import type { FailureCode } from '../failure/codes.ts';
import type { Face } from '../model/face.ts';

/** Where the time of one tool call went, in milliseconds. */
export type CallParts = {
  /** Until the rollout had its sandbox. */
  readonly waitedMs: number;
  /** As the sandbox measured it. */
  readonly commandMs: number;
  /** The rest of it: the way there and back, judging and storing. */
  readonly overheadMs: number;
};

/** What a gateway's work takes, in the domain's own words. Nothing here throws; each is told once, by whoever did it. */
export interface WorkMetrics {
  /** The sandbox of a rollout is prepared. `tookMs`: since it stood in line, or would have. */
  obtained(environment: string, launch: 'warm' | 'cold', tookMs: number): void;
  /** A call settled that its sandbox answered. */
  callAnswered(environment: string, parts: CallParts): void;
  /** A grader's turn is over, whatever came of it. */
  graded(environment: string, tookMs: number): void;
  /** A judge was asked; `ok`: it scored or refused the answer. */
  judged(end: FailureCode | 'ok'): void;
  /** A request that was repeated got the answer that is recorded. */
  replayed(face: Face): void;
}
