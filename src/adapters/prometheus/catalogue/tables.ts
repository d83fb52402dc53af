import { type FailureCode, failureCodes, failureRow, isFailure } from '#src/failure/codes.ts';
import type { Suspected } from '#src/failure/verdict.ts';
import type { ModelFailure, Outcome } from '#src/model/outcome.ts';
import type { BackendState } from '#src/ports/event-log.ts';
import { listed, oneOf } from './spec.ts';

/*
 * Label values for failures, from the failure table. A code outside the table gets no series, whatever its source.
 */

/** The value of a label without a blame or code. */
export const none = 'none';

const failed = failureCodes.filter(isFailure);
const ours = failed.filter((code) => failureRow(code).blame === 'infrastructure');

export const blamed = (code: FailureCode) => ({ blame: failureRow(code).blame, code });

export const ourFailures = ours.map(blamed);
/** Of gateways' answers the callers' own are watched, too: a job that is configured wrongly fails from its first request on. */
export const allFailures = failed.map(blamed);

export const ofFailure = listed(
  ['blame', 'code'],
  failed.map((code) => [failureRow(code).blame, code]),
  'a [failure code](failures.md) and its blame; waiting (`still_running`) is not a failure',
);

/** Of launches: how they ended. */
export const failedLaunches = ours.map((code) => ({ type: 'failed', result: code }));
export const ofLaunch = listed(
  ['type', 'result'],
  [['warm', 'ready'], ['cold', 'ready'], ...failed.map((code) => ['failed', code])],
  '`warm`: into the pool, `cold`: to a rollout that waited, `failed`: with this code',
);

/** With which outcome a call settles that has one of the model's own failures. */
const modelFailures = {
  bad_arguments: 'refused',
  unknown_tool: 'refused',
  budget_spent: 'refused',
  too_many_at_once: 'refused',
  time_spent: 'refused',
  command_not_started: 'refused',
  command_timeout: 'timed_out',
  command_out_of_memory: 'completed',
  sandbox_broken: 'completed',
} as const satisfies Record<ModelFailure, Outcome>;

/** Its judge is asked when a rollout has no calls under way. */
const ourCalls = ours
  .filter((code) => code !== 'judge_suspect')
  .map((code) => ['infrastructure_failure', 'infrastructure', code] as const);

export const ofCall = listed(
  ['outcome', 'blame', 'code'],
  [
    ['completed', none, none],
    ['cancelled', none, none],
    ...Object.entries(modelFailures).map(([code, outcome]) => [outcome, 'model', code]),
    ...ourCalls,
  ],
  'how it ended; `none` without blame and code',
);

/** Of the model's own failures, those with an alert. */
export const callsFromStart = [
  ['completed', none, none] as const,
  ['refused', 'model', 'bad_arguments'] as const,
  ['refused', 'model', 'unknown_tool'] as const,
  ['completed', 'model', 'sandbox_broken'] as const,
  ...ourCalls,
].map(([outcome, blame, code]) => ({ outcome, blame, code }));

const suspects = [none, 'command', 'answer'] as const;
/** No policy can make its judge suspect, and one that found no place in line has not run anything. */
const neverSuspected: ReadonlySet<FailureCode> = new Set(['judge_suspect', 'line_full']);

/** A rollout's use of a backend is suspected of nothing else. */
function suspectsOf(code: FailureCode): readonly (Suspected | typeof none)[] {
  if (neverSuspected.has(code)) return [none];
  return code === 'dependency_failed' ? [...suspects, 'dependency'] : suspects;
}
const discards = ours.flatMap((code) => suspectsOf(code).map((suspected) => [code, suspected] as const));

export const ofVerdict = listed(
  ['verdict', 'blame', 'code', 'suspected'],
  [
    ...suspects.map((suspected) => ['scorable', none, none, suspected]),
    ...discards.map(([code, suspected]) => ['discard', 'infrastructure', code, suspected]),
    ...failed
      .filter((code) => !ours.includes(code))
      .map((code) => ['discard', failureRow(code).blame, code, none]),
  ],
  'what the trainer may do; `suspected`: the policy’s `command`, its `answer`, or its use of a backend (`dependency`) may have caused it',
);

/** Codes of which it is sometimes suspected. */
const suspicious: ReadonlySet<string> = new Set([
  'sandbox_lost',
  'outcome_unknown',
  'dependency_failed',
  'grader_failed',
]);

export const verdictsFromStart = [
  { verdict: 'scorable', blame: none, code: none, suspected: none },
  ...discards
    .filter(([code, suspected]) => suspected === none || suspicious.has(code))
    .map(([code, suspected]) => ({ verdict: 'discard', blame: 'infrastructure', code, suspected })),
];

export const ofJudge = oneOf(
  'code',
  ['ok', ...ours],
  '`ok`: it said a score or refused one, or a failure code',
);
export const judgesFromStart = ['ok', 'grader_failed', 'unclassified'].map((code) => ({ code }));

const backendStates = ['failed', 'good', 'undecided'] as const satisfies readonly BackendState[];

export const ofBackend = oneOf(
  'backend',
  backendStates,
  'what probes of it say; `undecided`: none could be made',
);
export const backendsFromStart = backendStates.map((backend) => ({ backend }));
