import { digestOfEnd } from '../claiming/replay-setup.ts';
import type { Evidence } from '../failure/failure.ts';
import type { Dependency } from '../model/dependency.ts';
import type { Settlement } from '../ports/fleet/calls.ts';
import {
  brokenDatabaseExit,
  type CallAnswer,
  type Captured,
  type CapturedBytes,
} from '../protocol/sandboxd/wire.ts';
import { renderOutput, fillText } from '../tools/render-output.ts';
import type { BackendWord } from './judge-dependency.ts';
import type { Running, StoredResult, Tracked } from './work.ts';
import type { ModelFailure } from '../model/outcome.ts';

/**
 * Whose doing a call's end was, decided purely. What a call gives if its rollout was discarded first: `answerFrom` in
 * settling.ts. If there is an answer: `judgeAnswer`, and for a repeat `word-again.ts`. If there is none: `settlementOfUnknown` and
 * `settlementOfForgotten`. It never ran, or was broken off, by the model's own doing: `refusedResult`, `brokenResult`; these are
 * answers like every other, in the environment's words, so that the model learns by them and nothing is discarded for them.
 */

/** What a settled call is, but for where and when it ran. */
export type Judged = {
  readonly settlement: Settlement;
  /** Null where the answer is no answer: an infrastructure failure. */
  readonly result: Result | null;
  /** What probes said of a call that reported a failed backend; absent: it reported none. */
  readonly backend?: BackendWord;
};

/** An answer, but for how long it waited, which whoever settles it adds. */
export type Result = Omit<StoredResult, 'waitedMs'>;

type JudgedCall = Pick<Running, 'work' | 'rollout'>;

/**
 * Whose doing was it? A command that ran to any end of its own is an answer, whatever its exit code. An exit code that reports a failed
 * backend discards the rollout if Corral's own probes say so, or cannot say; `backend` is what they say. sandboxd's own word, that a
 * query's database cannot be read any more, needs no other witness.
 */
export function judgeAnswer(running: JudgedCall, answer: CallAnswer, backend: BackendWord | null): Judged {
  const { work } = running;
  if (isLate(answer)) return withoutTurn(work);
  if (isDatabaseBroken(work, answer)) return { settlement: dependencyFailed(work, answer), result: null };
  const mirrors = mirrorsFailed(answer);
  if (mirrors !== null)
    return { settlement: dependencyFailed(work, answer, mirrors), result: null, backend: mirrors };
  if (backend !== null && backend.kind !== 'good')
    return { settlement: dependencyFailed(work, answer, backend), result: null, backend };
  const result = resultOf(running, answer);
  const settlement = settlementOf(work, {
    ...ranAs(answer),
    ...codesOf(answer),
    ...setupEndOf(work, answer),
  });
  return { settlement, result, ...(backend && { backend }) };
}

/** Nothing if no replay could repeat this end. */
function setupEndOf({ setup }: Tracked, answer: CallAnswer): Pick<Settlement, 'setup'> {
  const digest = setup ? digestOfEnd(answer) : null;
  return digest === null ? {} : { setup: { digest } };
}

/** Its rollout's time was over before its turn came, by fleet state's own word: as if it had been sent now. */
function withoutTurn(work: Tracked): Judged {
  const result = refusedResult(work, 'time_spent');
  return { settlement: refusedSettlement(work, result), result };
}

export const isLate = ({ ending }: CallAnswer): boolean =>
  ending.kind === 'not_started' && ending.late === true;

const endedWith = ({ ending }: CallAnswer, codes: readonly number[]): boolean =>
  ending.kind === 'exited' && codes.includes(ending.exitCode);

function isDatabaseBroken({ isQuery }: Tracked, answer: CallAnswer): boolean {
  return isQuery && endedWith(answer, [brokenDatabaseExit]);
}

/** Whether the tool reports by its exit code that what it depends on has failed. */
export function reportsFailure({ exitCodes }: Dependency, answer: CallAnswer): boolean {
  return endedWith(answer, exitCodes);
}

/**
 * A package mirror failed a request of this sandbox while the call ran, and at once a probe of it failed too; or the process that asks
 * mirrors for this sandbox died. Then the command's own result does not count. It is always doubted: a mirror may refuse this machine for
 * what the sandbox asked, and where commands have sandboxd's id they can write these counts. Null: neither happened.
 */
function mirrorsFailed({ evidence: { mirrors } }: CallAnswer): Unusable | null {
  if (mirrors === undefined) return null;
  const { asked, confirmed, lost, doubt } = mirrors;
  if (asked > 0 && confirmed > 0) {
    const reason = `a package mirror failed ${confirmed} of ${asked} requests, and a probe of it too`;
    return { kind: 'failed', reason, doubt: mirrorDoubts[doubt ?? 'requests'] };
  }
  if (lost === 0) return null;
  const reason = 'the process that asks package mirrors for this sandbox died';
  return { kind: 'failed', reason, doubt: 'the sandbox may have caused it' };
}

const mirrorDoubts = {
  load: 'its run makes most of the requests to mirrors: it may have overloaded one',
  requests: 'the mirror may have failed because of what the sandbox asked',
  unproven: 'the mirror has not answered well for a day: it may never have worked',
} as const;

type Unusable = Exclude<BackendWord, { kind: 'good' }>;

function dependencyFailed(work: Tracked, answer: CallAnswer, backend?: Unusable): Settlement {
  const ran = ranAs(answer);
  const code = 'dependency_failed';
  const said = saidOf(answer);
  const evidence = { tool: work.tool, exit_code: ran.exitCode, said, ...probeEvidence(work, backend) };
  const suspected = backend === undefined || isProven(backend) ? null : 'dependency';
  return settlementOf(work, {
    ...ran,
    outcome: 'infrastructure_failure',
    code,
    taint: { code, evidence, suspected },
  });
}

const saidCharacters = 500;

/** The beginning of stderr. Tools have one stream for both, and what a failure says is at its end. */
function saidOf({ stdout, stderr }: CallAnswer): string {
  if (stderr.head !== '') return stderr.head.slice(0, saidCharacters);
  return (stdout.head + stdout.tail).slice(-saidCharacters);
}

/** What a probe saw, and nothing speaks against it. */
const isProven = (backend: Unusable): boolean => backend.kind === 'failed' && backend.doubt === null;

function probeEvidence({ dependency }: Tracked, backend: Unusable | undefined): Evidence {
  if (backend === undefined) return {};
  const doubt = backend.kind === 'failed' ? backend.doubt : null;
  if (dependency === null) return { probed: backend.reason, ...(doubt !== null && { doubt }) };
  // The host alone: trainers read it, and an address may hold more than they should know.
  const { host } = new URL(dependency.probe);
  return { probe: host, probed: backend.reason, ...(doubt !== null && { doubt }) };
}

/** How a call settles when nobody could be asked, before its deadline, whether it ran: ours, final, never scored. */
export function settlementOfUnknown(
  work: Settling,
  { tries, detail }: { readonly tries: number; readonly detail: string },
): Settlement {
  const code = 'outcome_unknown';
  const taint = { code, evidence: { call: work.call, tries, admitted: 'unknown', detail } } as const;
  return settlementOf(work, { outcome: 'infrastructure_failure', code, admitted: 'unknown', taint });
}

/**
 * How a call settles whose answer was given and whose bytes are gone: only answers are ever confirmed, so whatever it
 * was, it was the command's own end.
 */
export function settlementOfForgotten(work: Tracked): Settlement {
  return settlementOf(work, { outcome: 'completed', code: null, admitted: 'yes' });
}

type Codes = Pick<StoredResult, 'outcome' | 'code'>;

function codesOf({ ending, evidence }: CallAnswer): Codes {
  switch (ending.kind) {
    case 'timed_out':
      return { outcome: 'timed_out', code: 'command_timeout' };
    case 'cancelled':
      return { outcome: 'cancelled', code: null };
    case 'not_started':
      return { outcome: 'refused', code: 'command_not_started' };
    case 'exited':
    case 'signalled':
      return {
        outcome: 'completed',
        code: (evidence.outOfMemoryKills ?? 0) > 0 ? 'command_out_of_memory' : null,
      };
  }
}

/** What is known of a run by its answer. */
function ranAs(answer: CallAnswer) {
  return {
    admitted: 'yes' as const,
    exitCode: answer.ending.kind === 'exited' ? answer.ending.exitCode : null,
    durationMs: Math.round(answer.evidence.durationMs),
    ...(answer.evidence.backgroundMs && { backgroundMs: answer.evidence.backgroundMs }),
    outputBytes: answer.stdout.totalBytes + answer.stderr.totalBytes,
  };
}

/** What an answer says of a run, in the words of its environment. */
export function resultOf({ work, rollout }: JudgedCall, answer: CallAnswer): Result {
  const { ending, stdout, stderr, base64, evidence, kept } = answer;
  const keepTexts = work.keepStreams && base64 === undefined;
  const { texts, limits } = work.environment;
  return {
    callId: work.call,
    ...codesOf(answer),
    exitCode: 'exitCode' in ending ? (ending.exitCode ?? null) : null,
    signal: 'signal' in ending ? (ending.signal ?? null) : null,
    output: renderOutput(answer, texts, limits.outputBytes).text,
    stdout: keepTexts ? textOf(stdout) : '',
    stderr: keepTexts ? textOf(stderr) : '',
    ...(base64 && {
      base64: { stdout: joined(base64.stdout), stderr: joined(base64.stderr) },
      totals: { stdout: stdout.totalBytes, stderr: stderr.totalBytes },
    }),
    truncated: {
      stdout: stdout.totalBytes > (kept?.stdout ?? stdout.totalBytes - stdout.cutBytes),
      stderr: stderr.totalBytes > (kept?.stderr ?? stderr.totalBytes - stderr.cutBytes),
      totalBytes: stdout.totalBytes + stderr.totalBytes,
    },
    ...(kept && { kept }),
    timedOut: ending.kind === 'timed_out',
    outOfMemoryKilled: (evidence.outOfMemoryKills ?? 0) > 0,
    durationMs: Math.round(evidence.durationMs),
    epoch: rollout.epoch,
  };
}

function textOf(captured: Captured): string {
  return captured.head + captured.tail;
}

/** What was padded cannot be appended to. */
function joined({ head, tail }: CapturedBytes): string {
  if (tail === '') return head;
  return Buffer.concat([Buffer.from(head, 'base64'), Buffer.from(tail, 'base64')]).toString('base64');
}

type Settling = Pick<Tracked, 'key' | 'call' | 'digest' | 'tool'> & {
  readonly environment: { readonly limits: Pick<Tracked['environment']['limits'], 'idleMs'> };
};

/** How a call ended; what is not said is as where nothing is known of a run. */
type End = Pick<Settlement, 'outcome' | 'code' | 'admitted'> &
  Partial<Pick<Settlement, 'exitCode' | 'durationMs' | 'backgroundMs' | 'outputBytes' | 'taint' | 'setup'>>;

/** The one builder of settlements. What it cost to wait, and what is kept of its texts, adds whoever settles. */
export function settlementOf({ key, call, digest, tool, environment }: Settling, end: End): Settlement {
  const nothing = {
    exitCode: null,
    durationMs: null,
    outputBytes: 0,
    isAnswered: false,
    taint: null,
  };
  const { idleMs } = environment.limits;
  return { key, call, digest, tool, ...nothing, waitedMs: 0, idleMs, ...end };
}

/** The answer to a call that was refused for the model's own doing; `text` is what the model reads. */
export function refusedResult(work: Tracked, code: ModelFailure, text?: string): Result {
  return withoutRun(work, 'refused', code, text ?? limitText(work, code));
}

/** The answer to every call after the policy broke its own sandbox. */
export function brokenResult(work: Tracked, reason: string): Result {
  const text = fillText(work.environment.texts.sandboxBroken, { reason });
  return withoutRun(work, 'completed', 'sandbox_broken', text);
}

/** The answer to a call that ran when the sandbox went down; what it had printed went with it. */
export function brokenWhileRunning(work: Tracked, reason: string): Result {
  const text = fillText(work.environment.texts.brokeSandbox, { reason });
  return withoutRun(work, 'completed', 'sandbox_broken', text);
}

function limitText(work: Tracked, code: ModelFailure): string {
  const { texts, limits } = work.environment;
  if (code === 'too_many_at_once') return texts.tooManyAtOnce;
  if (code === 'budget_spent') return fillText(texts.budgetSpent, { limit: limits.toolCalls });
  return fillText(texts.timeSpent, { minutes: Math.round(limits.rolloutMs / 60_000) });
}

/** How a call settles that was cancelled before its admission. Each later request for it gets this answer. */
export function cancelledUnbegun(work: Tracked): Judged {
  const result = withoutRun(work, 'cancelled', null, work.environment.texts.cancelled);
  return { settlement: { ...refusedSettlement(work, result), onlyNew: true }, result };
}

export function withoutRun(
  work: Tracked,
  outcome: Result['outcome'],
  code: string | null,
  output: string,
): Result {
  return {
    callId: work.call,
    outcome,
    code,
    exitCode: null,
    signal: null,
    output,
    stdout: '',
    stderr: '',
    truncated: { stdout: false, stderr: false, totalBytes: 0 },
    timedOut: false,
    outOfMemoryKilled: false,
    durationMs: 0,
    epoch: null,
  };
}

/** How such a call settles: with its result, and nothing of a run. */
export function refusedSettlement(work: Tracked, { outcome, code, output }: Result): Settlement {
  const settlement = settlementOf(work, { outcome, code, admitted: 'no', durationMs: 0 });
  return code === 'bad_arguments' || code === 'unknown_tool' ? { ...settlement, text: output } : settlement;
}
