import type { Verdict } from '../failure/verdict.ts';
import type { FleetEvent } from '../ports/event-log.ts';
import type { GradeJob } from './job.ts';
import type { Evaluation } from './graders/evaluate.ts';

/** The one line that the event log keeps of a verdict that grading reached. */
export function gradedEvent(
  job: Omit<GradeJob, 'deadline'>,
  verdict: Verdict,
  evaluation: Evaluation | null,
  atMs: number,
): FleetEvent {
  return {
    kind: 'verdict',
    atMs,
    key: job.rollout.key,
    environment: job.environment.name,
    version: job.environment.version,
    verdict,
    score: evaluation?.kind === 'scored' ? evaluation.score : null,
    suspected: evaluation?.suspected ?? null,
    evidence: { turn: job.turn, calls: job.rollout.calls },
  };
}
