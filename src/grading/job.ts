import type { Environment } from '../model/environment.ts';
import type { Item } from '../model/grader.ts';
import type { Written } from '../model/written.ts';
import type { ClaimRequest } from '../ports/fleet/claims.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import type { Deadline } from '../waiting/deadline.ts';
import type { Tries } from '../waiting/retries.ts';
import type { Sample } from './graders/evaluation.ts';
import type { Evidence } from '../failure/failure.ts';
import { type Discarded, type Suspected, type Verdict, verdictOf } from '../failure/verdict.ts';
import type { RolloutEvent, ToldWhy } from '../ports/event-log.ts';

/**
 * A grading in the words of this room: what was asked for, its turns, the sample that came with it and what of one is
 * kept and read, what the trainer gets, and the line that the event log keeps.
 */

/** What a trainer gets. `replayed`: it was stored before. */
export type Grade = {
  readonly score: number;
  readonly detail: Readonly<Record<string, unknown>>;
  readonly replayed: boolean;
};

/** One grading asked for. `item` is what the request brought; else the rollout's own row. */
export type GradeWork = {
  readonly claim: ClaimRequest;
  readonly environment: Environment;
  readonly item: Item | null;
  readonly sample: Written;
  /** The score that the trainer computed; null where the environment's grader gives it. */
  readonly brought: number | null;
  /** The API key that asked for it, for the event log. */
  readonly keyId: string | null;
  /** The sandboxes that its request has given up, of those that it may. */
  readonly swaps: Tries;
};

/** One turn of it: the grader may run now, until `deadline`; then fleet state gives the turn up for another. */
export type GradeJob = GradeWork & {
  readonly rollout: RolloutRecord;
  readonly turn: number;
  readonly deadline: Deadline;
};

/** Of a sample. One megabyte is the platforms' own bound; a little more, for a sample at the bound. What is longer is a wrong answer. */
const mostSampleBytes = 1024 * 1024 + 64 * 1024;

/**
 * So much of one is kept all the same: it names the calls of its rollout, and whether they all reached us decides before
 * any answer does. A million characters fit into it, each escaped, and in both places where platforms put the last message.
 */
export const mostKeptSampleBytes = 4 * 1024 * 1024;

/** Bytes of a sample that is too long to be graded by what it says; null for all others. */
export function tooLongBytes(sample: Written): number | null {
  const bytes = typeof sample === 'string' ? Buffer.byteLength(sample) : sample.tooLongBytes;
  return bytes > mostSampleBytes ? bytes : null;
}

/** Parsed again by everybody who looks at it, because gradings are held for minutes. Nothing where nothing was kept. */
export function readSample(sample: Written): Sample {
  return typeof sample === 'string' ? (JSON.parse(sample) as Sample) : {};
}

/** What the grader gave: null where there is no score, and whether the policy may have been behind how it ended. */
type Graded = {
  readonly score: number | null;
  readonly suspected: Suspected | null;
  /** Why there is no score. */
  readonly evidence?: Evidence;
  /** Why it is what it is. */
  readonly why?: ToldWhy;
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
    ...(graded.why && { why: graded.why }),
  };
}

/** The same line for a verdict that is a discard, as fleet state recorded it. */
export function discardEvent(
  job: Omit<GradeJob, 'deadline'>,
  discarded: Discarded,
  graded: Pick<Graded, 'evidence' | 'why'>,
  atMs: number,
): RolloutEvent {
  const { suspected } = discarded;
  return gradedEvent(job, verdictOf({ discarded }), { score: null, suspected, ...graded }, atMs);
}
