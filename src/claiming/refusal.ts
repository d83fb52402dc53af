import type { FailureCode } from '../failure/codes.ts';
import { Barred, type Evidence, Failure } from '../failure/failure.ts';
import type { Admitted } from '../model/outcome.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';

/** What the caller of a rollout that may not go on is told: the sentence of its code, and what is recorded of why. */
export function refusal(
  code: FailureCode,
  rollout: RolloutRecord | null,
  admitted: Admitted = 'no',
): Failure {
  const message = sentences[code] ?? `the rollout may not go on: ${code}`;
  const options = { admitted, evidence: recordedEvidence(rollout) };
  return rollout?.barred === code ? new Barred(code, message, options) : new Failure(code, message, options);
}

function recordedEvidence(rollout: RolloutRecord | null): Evidence {
  if (rollout === null) return {};
  const { discarded, closedBy } = rollout;
  const known = { ...discarded?.evidence, ...(discarded?.cause && { cause: discarded.cause }) };
  return closedBy === null || Object.keys(known).length > 0 ? known : { closed_by: closedBy };
}

const sentences: Partial<Record<FailureCode, string>> = {
  sandbox_lost: 'the sandbox of this rollout is gone after it had run calls; discard the rollout',
  outcome_unknown: 'nobody could be asked whether a call of this rollout ran; discard the rollout',
  dependency_failed: "a tool's own backend failed in this rollout; discard the rollout",
  recovering:
    'Redis was replaced, and a sandbox that may be of this rollout has not answered since; try again shortly',
  rollout_unknown:
    'calls of this rollout that the platform names never reached the fleet; discard the rollout',
  line_full: 'the waiting line is at its bound; send fewer rollouts at once or add capacity',
  rows_full:
    "the dataset rows of this tenant's open rollouts fill its share of Redis; let some of them end, send smaller rows, or ask the operator for more",
  state_unavailable:
    'fleet state has no memory left for new rollouts, and open rollouts continue; let some of them end, or ask the operator for more',
  rollout_closed: 'the rollout is closed: finished, deleted, graded, or replaced by a newer attempt',
  rollout_expired:
    'nobody called the rollout within its idle time, or its hard life is over; it was released',
  run_closed:
    'the run was stopped, or nobody renewed its lease while this rollout was open; closed_by says which. After a stop, start a run under another name',
  voided: 'a caller voided this rollout; discard it. evidence.reason says why',
  requirements_unmet:
    'the task of this rollout cannot run here as it is; correct the task or the environment',
  environment_mismatch: 'the rollout was opened with another environment than the one this request names',
  item_mismatch:
    'the rollout was opened with another dataset row than the one this request brings; give each rollout its own id',
  judge_suspect:
    'the judge of this rollout scored an answer wrongly whose worth is known; discard the rollout and look at the judge',
  grader_failed: 'the grader failed three times in this rollout; discard the rollout and look at the grader',
};
