import { modelFailureCodes } from '../model/outcome.ts';

/**
 * Every way in which Corral can fail to give an answer, who is to blame, and who gives its code. The one source for HTTP
 * statuses, retry advice and reports: a code missing from a column does not compile, and what nobody classified is ours.
 *
 * A call's own code is in its summary, as `corral rollout ID` shows it. A trainer whose call went down with its sandbox gets the
 * code that discarded its rollout instead: `reply` in src/adapters/redis/scripts/lib/repeat.lua. A sandbox that was taken down by
 * what ran there is no loss, and no failure of ours: `brokenBy`, beneath.
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
  readonly native: 202 | 400 | 401 | 403 | 404 | 409 | 410 | 413 | 422 | 500 | 503;
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

/** Above each code: who gives it, in which file. */
export const failures = {
  // No sandbox yet: nothing ran, and the same call may be sent again.

  // `failWaiting` in src/claiming/obtain-sandbox.ts: none became free in time
  capacity_timeout: ours('yes'),
  // `Line.staysFull` in src/adapters/redis/scripts/lib/line.lua; bursts, `tooManyAnnounce` in src/adapters/redis/pool-store.ts
  line_full: ours('later'),
  // `classifyStart` in src/pool/launch/classify.ts, from `startTrouble` in src/adapters/kubernetes/truth/start-trouble.ts, or from a
  // node: `troubleOf` in services/node/images/registry-trouble.ts
  image_unavailable: ours('yes'),
  // `classifyStart` in src/pool/launch/classify.ts, from the same, or from a node: `refuseWithoutRoom` in
  // services/node/sandbox/memory-room.ts
  unschedulable: ours('yes'),
  // `classifyStart` in src/pool/launch/classify.ts
  start_failed: ours('yes'),
  // `classifyStart` in src/pool/launch/classify.ts; one that hung, `overdue-launches` in src/adapters/redis/scripts/launching.lua
  start_timeout: ours('yes'),
  // `setupFailed` and `programsMissing` in src/claiming/prepare-sandbox.ts; a template's own, `classifyStart` in
  // src/pool/launch/classify.ts
  setup_failed: ours('yes'),
  // `sandboxdUnreachable` in src/failure/failure.ts, which lists where
  sandboxd_unreachable: ours('yes'),

  // The rollout's state is gone or unsure: final.

  // `lose` in src/adapters/redis/scripts/lib/ending.lua, which lists where. Its cause was seen by a gateway,
  // `nextStep` in src/calls/next-step.ts; on a machine, `deathOf` in services/node/sandbox/death.ts; on a cluster,
  // `endingOf` in src/adapters/kubernetes/truth/ending.ts; of E2B's clients, `loseRequest` in
  // src/adapters/redis/scripts/lib/gateway.lua. One that a controller misses in the provider's list is gone for
  // nobody knows what: `SandboxAccount` in src/pool/sandbox-account.ts
  sandbox_lost: lost,
  // `settlementOfUnknown` in src/calls/judge-call.ts
  outcome_unknown: lost,
  // `dependencyFailed` in src/calls/judge-call.ts, by the word of `judgeDependency` in src/calls/judge-dependency.ts
  dependency_failed: lost,

  // Not a failure of anybody: the work goes on, a repeat attaches.
  // `runCall` in src/calls/run-call.ts, `gradeRollout` in src/grading/grade-rollout.ts
  still_running: { blame: 'infrastructure', native: 202, rft: 503, e2b: 503, retry: 'yes', taints: false },

  // Grading.

  // `failed` in src/adapters/judge-http/http-judge.ts, `headersOf` in src/grading/judge-request.ts, `unchecked` in
  // src/grading/guard/await-guard.ts; three turns without
  // a score, `barUsedUp` in src/adapters/redis/scripts/grading.lua
  grader_failed: ours('yes'),
  // `suspectJudge` in src/grading/guard/await-guard.ts: of the judge’s own canaries, which hold nothing of a policy
  judge_suspect: {
    blame: 'infrastructure',
    native: 503,
    rft: 503,
    e2b: 503,
    retry: 'no',
    taints: true,
  },
  // `findRollout` in src/claiming/resolve-rollout.ts; calls that nobody knows, `checkNamedCalls` in src/grading/check-calls.ts
  rollout_unknown: { blame: 'infrastructure', native: 404, rft: 503, e2b: 502, retry: 'no', taints: false },

  // The fleet itself.

  // `classifyTrouble` in src/adapters/redis/redis-trouble.ts; out of memory, `open` in src/adapters/redis/scripts/lib/opening.lua
  state_unavailable: ours('later'),
  // `classifyTrouble` in src/adapters/redis/redis-trouble.ts, `unsureCode` in src/adapters/redis/scripts/lib/outage.lua
  recovering: ours('later'),
  // `nodeIsSilent` in src/adapters/local/provider.ts, `codeOf` in src/adapters/kubernetes/api/answer.ts; late starts,
  // `classifyStart` in src/pool/launch/classify.ts
  provider_unavailable: ours('later'),
  // `enter` in services/gateway/http/hold-gate.ts
  gateway_overloaded: ours('later'),
  // `enter` and `cutOff` in services/gateway/http/hold-gate.ts
  shutting_down: ours('later'),
  // The caller's rows fill its share of Redis; room comes as its own rollouts end, so it is neither final nor ours.
  // `keepLateRow` and `open` in src/adapters/redis/scripts/lib/opening.lua
  rows_full: { blame: 'caller', native: 503, rft: 503, e2b: 503, retry: 'later', taints: false },

  // The caller's.

  // `barredBy` in src/adapters/redis/scripts/lib/verdict.lua
  rollout_expired: callers(410, 503, 502),
  // `barredBy` in src/adapters/redis/scripts/lib/verdict.lua
  rollout_closed: callers(409, 503, 502),
  // `barredBy` in src/adapters/redis/scripts/lib/verdict.lua; a new rollout, `serve` in src/adapters/redis/scripts/claim.lua
  run_closed: callers(409, 503, 502),
  // `answerExpired` in src/calls/settling.ts; a kept stream, `outputOf` in src/calls/attach.ts
  answer_expired: callers(410, 503),
  // `callConflict` in src/calls/work.ts
  call_conflict: callers(409, 500),
  // `storeBrought` in src/grading/plan-grade.ts
  score_conflict: callers(409, 500),
  // `invalid` in services/gateway/http/answer-failure.ts
  invalid_request: callers(400, 500),
  // `unknownEnvironment` in src/claiming/pinned-environments.ts
  unknown_environment: callers(404, 500),
  // `checkSameTask` in src/claiming/resolve-rollout.ts, `serve` in src/adapters/redis/scripts/claim.lua
  environment_mismatch: callers(409, 500),
  // `checkSameTask` in src/claiming/resolve-rollout.ts, `serve` in src/adapters/redis/scripts/claim.lua
  item_mismatch: callers(409, 500),
  // `takeNextStep` in src/calls/exchange.ts, `attachToCall` in src/calls/attach.ts
  unknown_call: callers(404, 500),
  // `missing` in src/environments/row-image.ts, `rowMissing` in src/environments/row-demands.ts, `textOf` in
  // src/tools/exposed-item.ts, `missing` in src/grading/graders/compared.ts
  item_missing: callers(400, 500),
  // `requirementsUnmet` in src/failure/requirements-unmet.ts; later, `barredBy` in src/adapters/redis/scripts/lib/verdict.lua
  requirements_unmet: callers(422, 500),
  // `voidRollout` in src/lifecycle/voids.ts; later, `barredBy` in src/adapters/redis/scripts/lib/verdict.lua
  voided: callers(409, 503, 502),
  // `notConfigured` in src/calls/plan-call.ts
  tool_not_configured: callers(404, 500),
  // `tooLarge` in services/gateway/http/read-body.ts
  payload_too_large: callers(413, 500),
  // `authorise` in src/access/authorise.ts
  unauthorized: callers(401, 503, 401),

  // `asFailure` in src/failure/failure.ts: a mistake of ours
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
  | 'node_disk_full'
  | 'node_limit_used_up'
  | 'request_lost'
  | 'expired';

/**
 * In a failed start's evidence, set by whoever knows it: another sandbox of the template would fail for the same reason, until
 * a person changes the template or a folder of this machine. Never set for lack of room, pulls, kills, timeouts and lost machines.
 */
export const failsEverywhere = { failsEverywhere: true } as const;

/** In a loss's evidence, set by a provider: commands ran under sandboxd's own id, so any of them could end it, and no want of memory did. */
export const commandsAsSandboxd = { commandsRunAs: 'sandboxd' } as const;

/**
 * Why a sandbox that went down after its first command is the doing of what ran there, also in the background, in words
 * for the model; null where cause and evidence do not say so. A provider tells `out_of_memory` and `out_of_disk` only
 * when the sandbox's own limit was hit, not the machine's. An end of sandboxd speaks against commands only if they could
 * send the signal that ended it and no fault could: then it has not crashed.
 */
export function brokenBy(cause: LossCause, evidence: EndEvidence): string | null {
  if (cause === 'out_of_memory') return 'a command used up all of its memory';
  if (cause === 'out_of_disk') return 'a command filled its disk';
  const couldKill = evidence.commandsRunAs === commandsAsSandboxd.commandsRunAs;
  const isProven = cause === 'sandboxd_killed' && !signalsOfFaults.has(evidence.signal);
  return couldKill && isProven ? 'a command killed the process that runs commands' : null;
}

type EndEvidence = { readonly commandsRunAs?: unknown; readonly signal?: unknown };

/** The kernel sends them for a page of a program that cannot be read, and a program to itself for a mistake of its own. */
const signalsOfFaults: ReadonlySet<unknown> = new Set([
  'SIGABRT',
  'SIGBUS',
  'SIGFPE',
  'SIGILL',
  'SIGSEGV',
  'SIGSYS',
  'SIGTRAP',
]);
