import { constants } from 'node:os';
import type { Admitted, Blame, Evidence, Failure } from './errors.ts';
import type { Json } from './writing.ts';

/** What the fleet returns, read once at the edge. An answer that lacks a field is not the fleet's ({@link NotCorral}). */

/** Something else answered: a proxy, or a server that is not a gateway. */
export class NotCorral extends Error {}

const outcomes = ['completed', 'timed_out', 'refused', 'cancelled'] as const;
export type Outcome = (typeof outcomes)[number];

/**
 * What happened to a command or a tool call. All of it is the policy's own, failures too. `output` is the text for the model.
 * A stream that was cut ends with a line that says so: the seam between head and tail is not visible.
 */
export type CallResult = {
  readonly callId: string;
  readonly outcome: Outcome;
  /** The model's failure, if there is one: `command_timeout`, `bad_arguments`, `sandbox_broken`, … */
  readonly code: string | null;
  /** Null if the command timed out, was canceled, never began, or broke its sandbox; 128 and its number for a signal. */
  readonly exitCode: number | null;
  /** A number in any case: `exitCode`, 124 for a timeout, 126 if nothing ran, 137 if it was stopped or broke its sandbox. */
  readonly returnCode: number;
  readonly signal: string | null;
  readonly output: string;
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated: { readonly stdout: boolean; readonly stderr: boolean; readonly totalBytes: number };
  readonly timedOut: boolean;
  readonly oomKilled: boolean;
  readonly durationS: number;
  /** The fleet's own time, never charged to the command's timeout. */
  readonly waitedS: number;
  readonly sandbox: string | null;
  readonly replayed: boolean;
};

export type Grade = { readonly score: number; readonly detail: Json; readonly replayed: boolean };

/** Whether a rollout may be scored, and why not. `what`: the story of a discard in sentences. */
export type Verdict = {
  readonly scorable: boolean;
  readonly code: string | null;
  readonly cause: string | null;
  readonly suspected: string | null;
  readonly score: number | null;
  readonly state: string;
  readonly blame: string | null;
  readonly what: string;
};

/** What the client keeps of a rollout's record. `ahead`: rollouts before it in line. */
export type Opened = {
  readonly run: string;
  readonly attempt: number;
  readonly version: string;
  readonly ahead: number | null;
  readonly leaseUntil: string;
};

export function readCall(body: Json): CallResult {
  const cut = field(body, 'truncated', isObject);
  const epoch = field(body, 'epoch', orNull(isObject));
  const signal = field(body, 'signal', orNull(isText));
  const outcome = oneOf(body, 'outcome', outcomes);
  const ended = toExitCode(field(body, 'exit_code', orNull(isNumber)), signal);
  // A command that is killed at its timeout ends by a signal, too, but its outcome is the timeout.
  const exitCode = outcome === 'completed' ? ended : null;
  const truncated = {
    stdout: field(cut, 'stdout', isFlag),
    stderr: field(cut, 'stderr', isFlag),
    totalBytes: field(cut, 'total_bytes', isNumber),
  };
  return {
    callId: field(body, 'call_id', isText),
    outcome,
    code: field(body, 'code', orNull(isText)),
    exitCode,
    returnCode: exitCode ?? { timed_out: 124, refused: 126, completed: 137, cancelled: 137 }[outcome],
    signal,
    output: field(body, 'output', isText),
    stdout: marked(field(body, 'stdout', isText), 'stdout', truncated.stdout),
    stderr: marked(field(body, 'stderr', isText), 'stderr', truncated.stderr),
    truncated,
    timedOut: field(body, 'timed_out', isFlag),
    oomKilled: field(body, 'oom_killed', isFlag),
    durationS: field(body, 'duration_ms', isNumber) / 1000,
    waitedS: field(body, 'waited_ms', isNumber) / 1000,
    sandbox: epoch === null ? null : field(epoch, 'sandbox', isText),
    replayed: field(body, 'replayed', isFlag),
  };
}

/** Whether a call that was given up had begun, and whether its rollout still waits for a sandbox. */
export type Cancelled = { readonly began: boolean; readonly waiting: boolean };

/** A gateway of the version before cancels only what has begun, and does not say so. */
export const readCancelled = (body: Json): Cancelled => ({
  began: field({ began: true, ...body }, 'began', isFlag),
  waiting: field({ waiting: false, ...body }, 'waiting', isFlag),
});

export const readGrade = (body: Json): Grade => ({
  score: field(body, 'score', isNumber),
  detail: field(body, 'detail', isObject),
  replayed: field(body, 'replayed', isFlag),
});

export function readVerdict(body: Json): Verdict {
  const verdict = field(body, 'verdict', isObject);
  const discard = field(body, 'discard', orNull(isObject));
  const optional = (name: string) => (name in verdict ? field(verdict, name, isText) : null);
  return {
    scorable: oneOf(verdict, 'kind', ['scorable', 'discard']) === 'scorable',
    code: optional('code'),
    cause: optional('cause'),
    suspected: optional('suspected'),
    score: field(body, 'score', orNull(isNumber)),
    state: field(body, 'state', isText),
    blame: discard === null ? null : field(discard, 'blame', isText),
    what: discard === null ? '' : field(discard, 'what', Array.isArray).map(String).join(' '),
  };
}

export const readOpened = (body: Json): Opened => ({
  run: field(body, 'run', isText),
  attempt: field(body, 'attempt', isNumber),
  version: field(body, 'version', isText),
  ahead: field({ ahead: null, ...body }, 'ahead', orNull(isNumber)),
  leaseUntil: field(body, 'lease_until', isText),
});

export function readFailure(body: Json): Failure {
  const error = field(body, 'error', isObject);
  return {
    code: field(error, 'code', isText),
    message: field(error, 'message', isText),
    blame: oneOf<Blame>(error, 'blame', ['model', 'caller', 'infrastructure']),
    admitted: oneOf<Admitted>(error, 'admitted', ['yes', 'no', 'unknown']),
    retryable: field(error, 'retryable', isFlag),
    tainted: field(error, 'tainted', isFlag),
    evidence: field(error, 'evidence', isObject) as Evidence,
    rolloutId: field(error, 'rollout_id', orNull(isText)),
    callId: 'call_id' in error ? field(error, 'call_id', isText) : null,
  };
}

function toExitCode(exited: number | null, signal: string | null): number | null {
  if (exited !== null || signal === null) return exited;
  return 128 + (Object.entries(constants.signals).find(([name]) => name === signal)?.[1] ?? 0);
}

/** Code that reads only the text must not take it for the whole. */
function marked(text: string, stream: string, isCut: boolean): string {
  if (!isCut) return text;
  return `${text}${text.endsWith('\n') ? '' : '\n'}[${stream} was cut: only its head and tail are above]\n`;
}

type Guard<Value> = (value: unknown) => value is Value;

const isText = (value: unknown): value is string => typeof value === 'string';
const isNumber = (value: unknown): value is number => typeof value === 'number';
const isFlag = (value: unknown): value is boolean => typeof value === 'boolean';
export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const orNull =
  <Value>(guard: Guard<Value>) =>
  (value: unknown): value is Value | null =>
    value === null || guard(value);

function field<Value>(body: Json, name: string, guard: Guard<Value>): Value {
  const value = body[name];
  if (guard(value)) return value;
  throw new NotCorral(`the answer has no valid "${name}"`);
}

function oneOf<Word extends string>(body: Json, name: string, words: readonly Word[]): Word {
  const word = words.find((each) => each === body[name]);
  if (word !== undefined) return word;
  throw new NotCorral(`the answer has no valid "${name}"`);
}
