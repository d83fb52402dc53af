import { constants } from 'node:os';
import type { Admitted, Blame, Evidence, Failure } from './errors.ts';
import type { Json } from './writing.ts';

/** What the fleet returns, read once at the edge. An answer that lacks a field is not the fleet's ({@link NotCorral}). */

/** Something else answered: a proxy, or a server that is not a gateway. */
export class NotCorral extends Error {}

export type Outcome = 'completed' | 'timed_out' | 'refused' | 'cancelled';
const outcomes: readonly Outcome[] = ['completed', 'timed_out', 'refused', 'cancelled'];

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
  /** What was kept of stdout as bytes, without a mark where it was cut; null without `binary`. */
  readonly stdoutBytes: Uint8Array | null;
  readonly stderrBytes: Uint8Array | null;
};

/** What an environment gives each command, known before anything is opened. */
export type Limits = {
  readonly runAs: string;
  /** Writable and empty at the start, next to the workspace and `/tmp`. */
  readonly folders: readonly string[];
  readonly longestTimeoutS: number;
  /** Kept of each stream, unless a command asks for another number. */
  readonly outputBytes: number;
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
  const bytes = { stdout: bytesOf(body, 'stdout'), stderr: bytesOf(body, 'stderr') };
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
    stdout: marked(shown(body, 'stdout', bytes.stdout), 'stdout', truncated.stdout),
    stderr: marked(stderrOf(body, outcome, bytes.stderr), 'stderr', truncated.stderr),
    truncated,
    timedOut: field(body, 'timed_out', isFlag),
    oomKilled: field(body, 'oom_killed', isFlag),
    durationS: field(body, 'duration_ms', isNumber) / 1000,
    waitedS: field(body, 'waited_ms', isNumber) / 1000,
    sandbox: epoch === null ? null : field(epoch, 'sandbox', isText),
    replayed: field(body, 'replayed', isFlag),
    stdoutBytes: bytes.stdout,
    stderrBytes: bytes.stderr,
  };
}

/** Whether a call that was given up had begun, and whether its rollout still waits for a sandbox. */
export type Cancelled = { readonly began: boolean; readonly waiting: boolean };

/** A gateway of the previous version cancels only what has begun, and does not say so. */
export const readCancelled = (body: Json): Cancelled => ({
  began: field({ began: true, ...body }, 'began', isFlag),
  waiting: field({ waiting: false, ...body }, 'waiting', isFlag),
});

/**
 * Of a command with `binary`. If nothing ran there are only texts, and also in a sandbox of an older fleet: there bytes that are
 * not UTF-8 are lost, and the stream counts as cut.
 */
export function readBinaryCall(body: Json): CallResult {
  const call = readCall(body);
  if (call.stdoutBytes !== null) return call;
  const [stdout, stderr] = [field(body, 'stdout', isText), field(body, 'stderr', isText)];
  return {
    ...call,
    stdoutBytes: new TextEncoder().encode(stdout),
    stderrBytes: new TextEncoder().encode(stderr),
    truncated: {
      ...call.truncated,
      stdout: call.truncated.stdout || stdout.includes('\ufffd'),
      stderr: call.truncated.stderr || stderr.includes('\ufffd'),
    },
  };
}

function bytesOf(body: Json, stream: 'stdout' | 'stderr'): Uint8Array | null {
  const name = `${stream}_base64`;
  return name in body ? new Uint8Array(Buffer.from(field(body, name, isBase64), 'base64')) : null;
}

const shown = (body: Json, stream: string, bytes: Uint8Array | null): string =>
  bytes === null ? field(body, stream, isText) : new TextDecoder().decode(bytes);

/** The stream, or why nothing ran: code that shows streams alone would show an exit code without a reason. */
function stderrOf(body: Json, outcome: Outcome, bytes: Uint8Array | null): string {
  const stderr = shown(body, 'stderr', bytes);
  return outcome === 'refused' && stderr === '' ? field(body, 'output', isText) : stderr;
}

export const readLimits = (body: Json): Limits => ({
  runAs: field(body, 'run_as', isText),
  folders: field(body, 'folders', Array.isArray).map(String),
  longestTimeoutS: field(body, 'longest_timeout_s', isNumber),
  outputBytes: field(body, 'output_bytes', isNumber),
});

/** Bytes of stdin that a command has been given, and whether it reads. */
export const readStdin = (body: Json) => ({
  received: field(body, 'received', isCount),
  open: field(body, 'open', isFlag),
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
const isBase64 = (value: unknown): value is string =>
  isText(value) && value.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(value);
const isNumber = (value: unknown): value is number => typeof value === 'number';
export const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
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
