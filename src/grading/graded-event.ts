import type { Evidence } from '../failure/failure.ts';
import type { Suspected } from '../failure/suspected.ts';
import type { Verdict } from '../failure/verdict.ts';
import type { RolloutEvent } from '../ports/event-log.ts';
import type { GradeJob } from './job.ts';

/** What the grader gave: null where there is no score, and whether the policy may have been behind how it ended. */
export type Graded = {
  readonly score: number | null;
  readonly suspected: Suspected | null;
  /** Why there is no score. */
  readonly evidence?: Evidence;
};

/** The one line that the event log keeps of a verdict that grading reached. */
export function gradedEvent(
  job: Omit<GradeJob, 'deadline'>,
  verdict: Verdict,
  graded: Graded,
  atMs: number,
): RolloutEvent {
  return {
    kind: 'verdict',
    atMs,
    key: job.rollout.key,
    keyId: job.keyId,
    environment: job.environment.name,
    version: job.environment.version,
    verdict,
    score: graded.score,
    suspected: graded.suspected,
    evidence: { ...graded.evidence, turn: job.turn, calls: job.rollout.calls },
    openedAtMs: job.rollout.placedAtMs,
  };
}
