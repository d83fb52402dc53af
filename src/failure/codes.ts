import { modelFailureCodes } from '../model/outcome.ts';

/**
 * Every way in which Corral can fail to give an answer, and who is to blame. The one source for HTTP statuses,
 * retry advice and reports: a code missing from a column does not compile, and what nobody classified is ours.
 *
 * Failures of the model (exit codes, bad arguments, timeouts of its own commands, a spent budget) are not here:
 * they are answers, 200 on every face. See `model/outcome.ts`.
 */

export type Blame = 'model' | 'caller' | 'infrastructure';

/** May the same call be sent again: at once, later, or never. */
export type Retry = 'yes' | 'later' | 'no';

type Row = {
  readonly blame: Blame;
  /** Status on the native face. */
  readonly native: 202 | 400 | 401 | 403 | 404 | 409 | 410 | 413 | 500 | 503;
  /** Status on the RFT face: there a 4xx body is shown to the model, so only 5xx exists. */
  readonly rft: 500 | 503;
  /**
   * Status on the E2B face. 502 says there that the sandbox is gone, for good; 404 and 409 would be facts about a file, so no
   * failure has them.
   */
  readonly e2b: 400 | 401 | 500 | 502 | 503;
  readonly retry: Retry;
  /** Whether the rollout can never be scored after it. */
  readonly taints: boolean;
};

const ours = (retry: Retry): Row => ({
  blame: 'infrastructure',
  native: 503,
  rft: 503,
  e2b: 503,
  retry,
  taints: false,
});
const lost: Row = { blame: 'infrastructure', native: 503, rft: 503, e2b: 502, retry: 'no', taints: true };
const callers = (native: Row['native'], rft: Row['rft'], e2b: Row['e2b'] = 400): Row => ({
  blame: 'caller',
  native,
  rft,
  e2b,
  retry: 'no',
  taints: false,
});

export const failures = {
  // No sandbox yet: nothing ran, and the same call may be sent again.
  capacity_timeout: ours('yes'),
  line_full: ours('later'),
  image_unavailable: ours('yes'),
  unschedulable: ours('yes'),
  start_failed: ours('yes'),
  start_timeout: ours('yes'),
  setup_failed: ours('yes'),
  sandboxd_unreachable: ours('yes'),

  // The rollout's state is gone or unsure: final.
  sandbox_lost: lost,
  outcome_unknown: lost,
  dependency_failed: lost,

  // Not a failure of anybody: the work goes on, a repeat attaches.
  still_running: { blame: 'infrastructure', native: 202, rft: 503, e2b: 503, retry: 'yes', taints: false },

  // Grading.
  grader_failed: ours('yes'),
  rollout_unknown: { blame: 'infrastructure', native: 404, rft: 503, e2b: 502, retry: 'no', taints: false },

  // The fleet itself.
  state_unavailable: ours('later'),
  recovering: ours('later'),
  provider_unavailable: ours('later'),
  gateway_overloaded: ours('later'),
  shutting_down: ours('later'),
  // The caller's rows fill its share of Redis; room comes as its own rollouts end, so it is neither final nor ours.
  rows_full: { blame: 'caller', native: 503, rft: 503, e2b: 503, retry: 'later', taints: false },

  // The caller's.
  rollout_expired: callers(410, 503, 502),
  rollout_closed: callers(409, 503, 502),
  run_closed: callers(409, 503, 502),
  answer_expired: callers(410, 503),
  call_conflict: callers(409, 500),
  score_conflict: callers(409, 500),
  invalid_request: callers(400, 500),
  unknown_environment: callers(404, 500),
  environment_mismatch: callers(409, 500),
  unknown_call: callers(404, 500),
  item_missing: callers(400, 500),
  tool_not_configured: callers(404, 500),
  payload_too_large: callers(413, 500),
  unauthorized: callers(401, 503, 401),

  unclassified: { blame: 'infrastructure', native: 500, rft: 500, e2b: 500, retry: 'no', taints: false },
} as const satisfies Record<string, Row>;

export type FailureCode = keyof typeof failures;

export const failureCodes = Object.keys(failures) as readonly FailureCode[];

/** Told to who waits while the work goes on: it has a row here, and is nobody's failure. */
export const isFailure = (code: FailureCode): boolean => code !== 'still_running';

export function failureRow(code: FailureCode): Row {
  return failures[code];
}

/**
 * Whose doing an end was, by its code; no code, nobody's. While a fleet is upgraded another version may write a code that this
 * one does not know: what nobody classified is ours.
 */
export function blameOf(code: string): Blame;
export function blameOf(code: string | null): Blame | null;
export function blameOf(code: string | null): Blame | null {
  if (code === null) return null;
  if (modelFailureCodes.some((own) => own === code)) return 'model';
  return Object.hasOwn(failures, code) ? failures[code as FailureCode].blame : 'infrastructure';
}

/** Why a sandbox is known to be gone. */
export type LossCause =
  | 'sandboxd_killed'
  | 'sandbox_exited'
  | 'deleted'
  | 'evicted'
  | 'preempted'
  | 'node_drained'
  | 'node_lost'
  | 'pod_replaced'
  | 'boot_changed'
  | 'out_of_memory'
  | 'node_out_of_memory'
  | 'out_of_disk'
  | 'expired';

/** In a loss's evidence, set by a provider: commands ran under sandboxd's own id, so any of them could end it. */
export const commandsAsSandboxd = { commandsRunAs: 'sandboxd' } as const;

/**
 * Why a sandbox that went down after its first command is the doing of what ran there, also in the background, in words
 * for the model; null where cause and evidence do not say so. A provider tells `out_of_memory` and `out_of_disk` only
 * when the sandbox's own limit was hit, not the machine's. An end of sandboxd speaks against commands only where they
 * can end it: by a kill, or by asking it to stop, at which it exits by itself.
 */
export function brokenBy(cause: LossCause, evidence: { readonly commandsRunAs?: unknown }): string | null {
  if (cause === 'out_of_memory') return 'a command used up all of its memory';
  if (cause === 'out_of_disk') return 'a command filled its disk';
  const couldKill = evidence.commandsRunAs === commandsAsSandboxd.commandsRunAs;
  const hasEnded = cause === 'sandboxd_killed' || cause === 'sandbox_exited';
  return hasEnded && couldKill ? 'a command killed the process that runs commands' : null;
}
