import {
  type CorralError,
  Discarded,
  type Failure,
  Misuse,
  Refused,
  RequirementsUnmet,
  Unavailable,
} from './errors.ts';

/*
 * Which error a failure becomes. The codes are the fleet's own; a test keeps this list equal to `/openapi.json`. Whether the
 * same request may be repeated is never decided here: the fleet says so with every failure.
 */

type Meaning = 'wait' | 'lost' | 'misuse' | 'unmet';

export const meanings: Readonly<Record<string, Meaning>> = {
  // Another try may help; after the client's patience the rollout has no sandbox or no gateway.
  capacity_timeout: 'wait',
  line_full: 'wait',
  image_unavailable: 'wait',
  unschedulable: 'wait',
  start_failed: 'wait',
  start_timeout: 'wait',
  setup_failed: 'wait',
  sandboxd_unreachable: 'wait',
  still_running: 'wait',
  grader_failed: 'wait',
  state_unavailable: 'wait',
  recovering: 'wait',
  provider_unavailable: 'wait',
  gateway_overloaded: 'wait',
  shutting_down: 'wait',
  rows_full: 'wait',
  // Its state is lost or unsure, or it has ended.
  sandbox_lost: 'lost',
  outcome_unknown: 'lost',
  dependency_failed: 'lost',
  judge_suspect: 'lost',
  rollout_unknown: 'lost',
  rollout_expired: 'lost',
  rollout_closed: 'lost',
  run_closed: 'lost',
  voided: 'lost',
  answer_expired: 'lost',
  unclassified: 'lost',
  // The next rollout would fail for the same reason.
  invalid_request: 'misuse',
  unknown_environment: 'misuse',
  environment_mismatch: 'misuse',
  item_mismatch: 'misuse',
  item_missing: 'misuse',
  tool_not_configured: 'misuse',
  payload_too_large: 'misuse',
  unauthorized: 'misuse',
  call_conflict: 'misuse',
  score_conflict: 'misuse',
  unknown_call: 'misuse',
  // Every attempt at this task fails for it, and no other task.
  requirements_unmet: 'unmet',
};

/** What a request does: open a rollout, act in its sandbox, attach to a call, move a file, grade, or something else. */
export type Purpose = 'open' | 'act' | 'attach' | 'file' | 'grade' | 'other';

/**
 * The codes that a call's text, id, path or arguments can cause, and of which requests. They are `Refused`. No other code is in the
 * policy's hands, so every other one may keep its rollout from a score. What else of `invalid_request` words could cause,
 * `writing.ts` refuses before anything is sent.
 */
export const byWords: Readonly<Record<string, readonly Purpose[]>> = {
  payload_too_large: ['act', 'file', 'grade'],
  // Trainers may take a call's id from the model, whose template may let it write one twice.
  call_conflict: ['act'],
  answer_expired: ['act'],
};

/** `wasSentBefore`: an earlier try had no answer. `isNewId`: no other call has the id, because the client made it or the fleet has accepted it. */
export type Sending = { readonly wasSentBefore?: boolean; readonly isNewId?: boolean };

/** The error for a failure that will not be tried again. */
export function toError(
  failure: Failure,
  purpose: Purpose = 'other',
  { wasSentBefore = false, isNewId = false }: Sending = {},
): CorralError {
  if (failure.tainted) return new Discarded(failure);
  const isOfUsedId = failure.code === 'call_conflict' || failure.code === 'answer_expired';
  const wasLost = failure.code === 'answer_expired' && wasSentBefore;
  if (!wasLost && !(isOfUsedId && isNewId) && mayBePolicys(failure, purpose)) return new Refused(failure);
  switch (meaningOf(failure, purpose)) {
    case 'unmet':
      return new RequirementsUnmet(failure);
    case 'misuse':
      return new Misuse(failure);
    case 'wait':
      return new Unavailable(failure);
    case 'lost':
      return new Discarded(failure);
  }
}

function meaningOf(failure: Failure, purpose: Purpose): Meaning {
  // A job that opens rollouts in a stopped run must stop, and not discard each of them.
  if (failure.code === 'run_closed' && purpose === 'open') return 'misuse';
  const known = meanings[failure.code];
  if (known !== undefined) return known;
  // A newer fleet's code. A job that stops is noticed; a silent discard is not.
  if (failure.blame === 'caller' && !failure.retryable) return 'misuse';
  return failure.retryable ? 'wait' : 'lost';
}

/**
 * A command that the model wrote too long, a file that it removed, a call id that it has used, a user that it may not be, stdin that
 * its command does not take.
 */
function mayBePolicys({ code, evidence }: Failure, purpose: Purpose): boolean {
  if (code !== 'invalid_request') return byWords[code]?.includes(purpose) ?? false;
  if (purpose === 'act') return 'user' in evidence || 'stdin' in evidence;
  return purpose === 'file' && 'errno' in evidence;
}
