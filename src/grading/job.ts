import type { Environment } from '../model/environment.ts';
import type { Item } from '../model/grader.ts';
import type { Written } from '../model/written.ts';
import type { ClaimRequest } from '../ports/fleet/claims.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import type { Deadline } from '../waiting/deadline.ts';

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
  /** The API key that asked for it, for the event log. */
  readonly keyId: string | null;
};

/** One turn of it: the grader may run now, until `deadline`; then fleet state gives the turn up for another. */
export type GradeJob = GradeWork & {
  readonly rollout: RolloutRecord;
  readonly turn: number;
  readonly deadline: Deadline;
};
