import { asFailure, Failure } from '../failure/failure.ts';
import type { FailureCode } from '../failure/codes.ts';
import { productionTimings } from '../model/timings.ts';
import { LinkError } from '../ports/sandbox-link.ts';

/**
 * Everything that is tried again in gateways and controllers, a row each, complete by type; `retries.ts` is the loop that
 * all rows share. docs/retries.md is written from here, together with what Redis, BullMQ and trainers try again.
 *
 * A row inside another row fails permanently when its tries are used up, or handles another kind of failure. If two nested
 * rows waited out the same trouble, their tries would multiply.
 */
export type RetryPolicy = {
  /** What is tried again, on which failures, and until when, for a person. */
  readonly what: string;
  readonly on: string;
  readonly until: string;
  /** The failures to retry, in addition to the failures that a try names by throwing `NotYet`. */
  readonly again: (thrown: unknown) => boolean;
  readonly mostTries: number;
  readonly pauses: Pauses;
  /** Its own time; forever if only the caller's time counts. */
  readonly withinMs: number;
  /** The files that try. */
  readonly by: readonly string[];
};

/** `firstMs × factor` for each try that failed, at most `longestMs`; chance takes up to half of it. */
export type Pauses = { readonly firstMs: number; readonly factor: number; readonly longestMs: number };

export type Retried =
  | 'request'
  | 'opening'
  | 'fileAdmission'
  | 'anotherSandbox'
  | 'bind'
  | 'sentCall'
  | 'followedCall'
  | 'stdinPiece'
  | 'unsentCall'
  | 'storedAnswer'
  | 'fileEnd'
  | 'overdueCall'
  | 'gradingStep'
  | 'graderConnection'
  | 'policysFiles'
  | 'graderWithoutRoom'
  | 'graderSandbox'
  | 'graderSilence'
  | 'forgottenTurn'
  | 'judge'
  | 'trajectory'
  | 'creation'
  | 'firstAnswer'
  | 'recoveredSandbox'
  | 'fleetState'
  | 'lostRequest'
  | 'redisConnection'
  | 'clusterWatch'
  | 'nodeWatch';

const always = Number.POSITIVE_INFINITY;

/**
 * Quick at first, because most troubles are over in milliseconds, then once a second, which is what a fleet of waiting
 * requests can ask of a Redis that is coming back.
 */
const usual: Pauses = { firstMs: 20, factor: 2, longestMs: 1_000 };
const atOnce: Pauses = { firstMs: 0, factor: 1, longestMs: 0 };

/**
 * Codes that a repeat by the trainer may fix and a repeat in here does not: time that is up, a gateway that must not
 * hold more, rows that would only be sent to a full share of Redis once a second, a setup that has already failed in
 * several sandboxes, and starts that failed for as long as there was time to wait in line.
 */
const leavesAtOnce: ReadonlySet<FailureCode> = new Set([
  'still_running',
  'capacity_timeout',
  'gateway_overloaded',
  'rows_full',
  'shutting_down',
  'setup_failed',
  'image_unavailable',
  'unschedulable',
  'start_failed',
  'start_timeout',
  'grader_failed',
]);

function mayPass(thrown: unknown): boolean {
  const { retry, code } = asFailure(thrown);
  return retry !== 'no' && !leavesAtOnce.has(code);
}

const isOneOf =
  (...codes: readonly FailureCode[]) =>
  (thrown: unknown): boolean =>
    thrown instanceof Failure && codes.includes(thrown.code);

/** What became of the question is not known, and it is one that may be asked again. */
const isOfConnection = (thrown: unknown): boolean =>
  thrown instanceof LinkError && (thrown.trouble.kind === 'not_sent' || thrown.trouble.kind === 'maybe_sent');

/** The try itself names them. */
const named = (): boolean => false;

export const retryPolicies: Readonly<Record<Retried, RetryPolicy>> = {
  // Three quick refusals lose a rollout, so a request is held; calls and grades are known by their ids and happen once.
  request: {
    what: 'a tool call or a grade, from its beginning; a request of E2B’s clients, until fleet state has it; the end of a rollout or a run',
    on: 'retryable failures, except those given up below',
    until: `until the request’s time is over: ${productionTimings.requestHoldMs / 1000} s on the RFT face, \`wait_s\` on the native one`,
    again: mayPass,
    mostTries: always,
    pauses: usual,
    withinMs: always,
    by: [
      'services/gateway/core-methods.ts',
      'services/gateway/native/run-routes.ts',
      'src/lifecycle/requests-in-hand.ts',
    ],
  },
  opening: {
    what: 'opening a rollout, announcing a burst',
    on: 'retryable failures',
    until: `${productionTimings.openingMs / 1000} s`,
    again: mayPass,
    mostTries: always,
    pauses: usual,
    // Its files give up after this fleet's `openingMs`: nothing is held for a rollout that is not open.
    withinMs: productionTimings.openingMs,
    by: ['src/claiming/resolve-rollout.ts', 'src/claiming/prewarm.ts'],
  },
  fileAdmission: {
    what: 'a file transfer, until its sandbox exists; never the transfer itself',
    on: 'retryable failures, except those given up below',
    until: '10 min',
    again: mayPass,
    mostTries: always,
    pauses: usual,
    // As long as the transfer itself may take.
    withinMs: 600_000,
    by: ['src/calls/transfer.ts'],
  },
  anotherSandbox: {
    what: 'another sandbox, if one did not take the rollout or failed its setup',
    on: 'a given-up sandbox; not one that refuses the gateway, or lacks a tool’s program',
    until: 'until the request’s time in the queue is over; 60 times a minute a template, counted in Redis',
    again: named,
    // Of a whole request: when five in a row will not do, something is wrong with all of them, or with us, and the pool is
    // not to pay for finding that out again.
    mostTries: 5,
    pauses: atOnce,
    withinMs: always,
    by: ['src/claiming/obtain-sandbox.ts'],
  },
  bind: {
    what: 'a bind, in one sandbox',
    on: 'a sandbox that takes no connection or breaks it',
    until: '10 s, or one try after its rollout was woken',
    again: isOfConnection,
    mostTries: always,
    pauses: usual,
    // However little time is left to the request that began it: others join it, and a sandbox that was cut off in the
    // middle would be wasted. A busy machine gives a new daemon its turn well within.
    withinMs: 10_000,
    by: ['src/claiming/prepare-sandbox.ts'],
  },
  sentCall: {
    what: 'sending a call, or asking for its answer',
    on: 'a broken connection; a sandbox that is full, or refuses the key; a Redis that cannot record a loss',
    until: 'the command’s timeout and 30 s; each report that it still runs adds up to 30 s',
    again: isOneOf('state_unavailable', 'recovering'),
    mostTries: always,
    pauses: usual,
    withinMs: always,
    by: ['src/calls/exchange.ts'],
  },
  followedCall: {
    what: 'reading what a call prints',
    on: 'a broken connection, after 0.1 s; a sandbox without the call yet, or with its maximum of readers',
    until: 'until the call settles, or its reader leaves; the rest comes from its answer',
    again: named,
    mostTries: always,
    pauses: usual,
    withinMs: always,
    by: ['src/calls/follow-call.ts'],
  },
  stdinPiece: {
    what: 'giving a piece of stdin to a call',
    on: 'a sandbox that does not take it; one without the call yet: for 5 s',
    until:
      'until the request’s time is over; the answer then says that nothing was taken, and clients send it again',
    again: named,
    mostTries: always,
    pauses: usual,
    withinMs: always,
    by: ['src/calls/give-stdin.ts'],
  },
  unsentCall: {
    what: 'recording that a try has not sent its call',
    on: 'retryable failures',
    until: '30 s; then a controller withdraws the call after its deadline',
    again: mayPass,
    mostTries: always,
    pauses: usual,
    // A Redis that restarts takes some ten seconds. The trainer waits for it, and a repeat of the call may be sent meanwhile.
    withinMs: 30_000,
    by: ['src/calls/admission.ts'],
  },
  storedAnswer: {
    what: 'storing an answer, and reading its probes',
    on: 'retryable failures',
    until: '120 s; then the journal keeps it for the next request',
    again: mayPass,
    mostTries: always,
    pauses: usual,
    // A failover by sentinels, and a controller that writes the fleet back after it.
    withinMs: 120_000,
    by: ['src/calls/settling.ts', 'src/calls/heed-dependency.ts'],
  },
  fileEnd: {
    what: 'ending a file transfer',
    on: 'retryable failures',
    until: '60 s; then a controller ends it',
    again: mayPass,
    mostTries: always,
    pauses: usual,
    // Its client waits for it, and nothing but its rollout’s grade depends on it.
    withinMs: 60_000,
    by: ['src/calls/transfer.ts'],
  },
  overdueCall: {
    what: 'asking a sandbox for a call that did not settle by its deadline: 20 s after it, then every 30 s',
    on: 'a sandbox that does not answer, or is full',
    until: '10 s each time',
    again: named,
    mostTries: always,
    pauses: usual,
    // As long as a sandbox may be silent anywhere else before that counts.
    withinMs: 10_000,
    by: ['src/calls/settle-overdue.ts'],
  },
  gradingStep: {
    what: 'a step of a grading: reading rollout and calls, its turn, the grader’s input, the canaries of its judge, storing its score',
    on: 'retryable failures; running calls, a turn or a check of a judge elsewhere are looked at every 200 ms',
    until: '`limits.grade`',
    again: mayPass,
    mostTries: always,
    pauses: usual,
    withinMs: always,
    by: [
      'src/grading/grade-rollout.ts',
      'src/grading/check-calls.ts',
      'src/grading/evaluate-job.ts',
      'src/grading/guard/await-guard.ts',
    ],
  },
  graderConnection: {
    what: 'the connection to a sandbox in which the grader runs',
    on: 'a broken connection; a Redis that cannot say whether the sandbox was lost',
    until: 'until the turn’s time is over',
    again: isOneOf('state_unavailable', 'recovering'),
    mostTries: always,
    pauses: usual,
    withinMs: always,
    by: ['src/grading/still-there.ts'],
  },
  policysFiles: {
    what: 'taking the policy’s files out of its sandbox, for graders elsewhere and judges',
    on: 'a reader that dies, because the policy’s files or the machine leave no memory',
    until: 'three tries; then the policy caused it',
    again: named,
    mostTries: 3,
    // The kernel's killer frees a machine's memory within a second; what a sandbox lacks, it lacks then, too.
    pauses: { firstMs: 1_000, factor: 3, longestMs: 3_000 },
    withinMs: always,
    by: ['src/grading/policys-files.ts'],
  },
  graderWithoutRoom: {
    what: 'a command grader whose files or start its sandbox had no room for',
    on: 'a lack of memory or processes that the sandbox’s own account shows',
    until: 'one more try, if there is time for a whole grading; then the policy caused it',
    again: named,
    mostTries: 2,
    pauses: { firstMs: 1_000, factor: 1, longestMs: 1_000 },
    withinMs: always,
    by: ['src/grading/run-command-grader.ts'],
  },
  graderSandbox: {
    what: 'another sandbox for a grader that works where the policy never was',
    on: 'a sandbox that is lost, silent, refuses, or does not become free; a Redis that cannot say',
    until: 'until the rest of the turn would be too short for the grader',
    again: mayPass,
    mostTries: always,
    pauses: usual,
    withinMs: always,
    by: ['src/grading/in-grader-sandbox.ts'],
  },
  graderSilence: {
    what: 'the connection to such a sandbox',
    on: 'a broken connection, while fleet state has not changed',
    until: '30 s; then it is given up for another',
    again: isOneOf('state_unavailable', 'recovering'),
    mostTries: always,
    pauses: usual,
    // As long as a sandbox that runs a call may be silent; nothing is lost with this one.
    withinMs: 30_000,
    by: ['src/grading/in-grader-sandbox.ts'],
  },
  forgottenTurn: {
    what: 'a grading from its beginning',
    on: 'a turn, or a rollout, that fleet state has lost',
    until: '`limits.grade`',
    again: named,
    // As many turns as one rollout has.
    mostTries: 3,
    pauses: atOnce,
    withinMs: always,
    by: ['src/grading/grade-rollout.ts'],
  },
  judge: {
    what: 'a judge elsewhere',
    on: '429, 5xx, 408, 425, no answer in time, no score in the answer',
    until: '`timeout × (retries + 1)`, and as many times; a `Retry-After` is obeyed in place of the pause',
    again: named,
    mostTries: always,
    // Often a model behind a rate limit: this gives it room without losing minutes.
    pauses: { firstMs: 500, factor: 2, longestMs: 30_000 },
    withinMs: always,
    by: ['src/adapters/judge-http/http-judge.ts'],
  },
  trajectory: {
    what: 'storing a segment of trajectories',
    on: 'every failure of the folder or of S3',
    until: '15 min, or the end of the gateway; then its lines are counted as lost',
    again: () => true,
    mostTries: always,
    pauses: { firstMs: 500, factor: 3, longestMs: 10_000 },
    // A store may restart or move meanwhile, and what waits has a bound. A segment that is refused for itself must not stop those after it.
    withinMs: 15 * 60_000,
    by: ['src/adapters/trajectories/trajectory-log.ts'],
  },
  creation: {
    what: 'creating a sandbox',
    on: 'a provider that is away or full',
    until: 'the start timeout',
    // A neighbour’s end makes room in a full engine, as it does in the pool.
    again: isOneOf('provider_unavailable', 'unschedulable'),
    mostTries: always,
    // It says "ask again" because it is busy, full or away: a burst’s hundreds of starts must not keep it so.
    pauses: { firstMs: 500, factor: 2, longestMs: 4_000 },
    withinMs: always,
    by: ['src/pool/launch/start.ts'],
  },
  firstAnswer: {
    what: 'learning the boot id of a sandbox that starts',
    on: 'a daemon that has not started',
    until: 'the start timeout',
    again: isOfConnection,
    mostTries: always,
    // A sandboxd is up within some 150 ms of its start, and within seconds where a burst starts sixty of them on one
    // node, whose cores then have better to do than to refuse connections.
    pauses: { firstMs: 25, factor: 1.5, longestMs: 250 },
    withinMs: always,
    by: ['src/pool/launch/start.ts'],
  },
  recoveredSandbox: {
    what: 'asking a sandbox for its rollout, when Redis was replaced',
    on: 'a sandbox that does not answer',
    until: '1.5 s; it is asked again later, while others continue',
    again: named,
    mostTries: always,
    // A connection that broke is mostly one broken connection: the next is made at once, and a daemon that starts gets time.
    pauses: { firstMs: 10, factor: 5, longestMs: 400 },
    // An identity takes a millisecond, and all requests wait for the slowest answer.
    withinMs: 1_500,
    by: ['src/recovery/ask.ts'],
  },
  fleetState: {
    what: 'the first connection of a process to Redis, with a line in the log each time',
    on: 'a Redis that is away, or refuses its password',
    until: 'without end',
    again: isOneOf('state_unavailable'),
    mostTries: always,
    // No rollout waits for a start that comes a second late.
    pauses: { firstMs: 1_000, factor: 1, longestMs: 1_000 },
    withinMs: always,
    by: ['src/adapters/redis/fleet-state.ts'],
  },
  lostRequest: {
    what: 'a gateway’s records of E2B’s requests: its start, held requests, and lost requests',
    on: 'a Redis that is away, or being written back',
    until: 'without end',
    again: isOneOf('state_unavailable', 'recovering'),
    mostTries: always,
    pauses: usual,
    withinMs: always,
    by: ['src/lifecycle/gateway-start.ts', 'src/lifecycle/requests-in-hand.ts'],
  },
  redisConnection: {
    what: 'every connection to Redis; the caller repeats a command',
    on: 'a broken connection, or an unusable one: not before half a second',
    until: 'without end',
    again: named,
    mostTries: always,
    // A restart takes a second; a Redis that is away for longer is asked once in two.
    pauses: { firstMs: 50, factor: 2, longestMs: 2_000 },
    withinMs: always,
    by: ['src/adapters/redis-client/client.ts'],
  },
  clusterWatch: {
    what: 'a watch of the cluster',
    on: 'a watch that was cut, ended or did not begin',
    until: 'without end; from the first pause after an event',
    again: named,
    mostTries: always,
    // One that was cut goes on at once, as far as a person can tell, and a server that is back is noticed within seconds.
    pauses: { firstMs: 100, factor: 2, longestMs: 5_000 },
    withinMs: always,
    by: ['src/adapters/kubernetes/watch/follow.ts'],
  },
  nodeWatch: {
    what: 'the watch of this machine’s `node`',
    on: 'one that ended',
    until: 'without end; from the first pause after an event',
    again: named,
    mostTries: always,
    // A dead node costs little, and a new one is there within a second or two.
    pauses: { firstMs: 50, factor: 2, longestMs: 2_000 },
    withinMs: always,
    by: ['src/adapters/local/provider.ts'],
  },
};
